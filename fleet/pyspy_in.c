#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "fleet/readers.h"

enum { LINE_BYTES = 2048, MOST_THREADS = 1 << 17 };

/* The threads of one process: py-spy has the main thread first in its text and last in JSON. */
struct gathering {
    struct fleet *fleet;
    struct fleet_process process;
    struct fleet_thread *threads;
    size_t n, capacity, main;
    struct fleet_stack stack, main_stack;
    struct frame_in frame;
    uint32_t added; /* processes */
};

/* The number behind "rank" in the last part of an input's name, "dumps/rank12.txt"; −1: none. */
static int64_t rank_in_name(const char *name)
{
    const char *at = strstr(path_base(name), "rank");
    uint64_t rank = 0;
    if (!at)
        return -1;
    at += 4;
    at += strspn(at, "-_=.");
    return parse_u64(at, at + strspn(at, "0123456789"), 10, &rank) && rank < INT32_MAX
               ? (int64_t)rank
               : -1;
}

static struct gathering *gathering_new(struct fleet *f, uint32_t input)
{
    struct gathering *g = xcalloc(1, sizeof *g);
    uint32_t none = fleet_text(f, "");
    g->fleet = f;
    g->process = (struct fleet_process){.rank = rank_in_name(f->inputs[input].name),
                                        .world = -1,
                                        .local_rank = -1,
                                        .host = none,
                                        .machine = none,
                                        .command = none,
                                        .time = none,
                                        .input = input,
                                        .document = f->n_documents++};
    return g;
}

/* Ends the process that is gathered.  CUT: the document ended within it. */
static void end_process(struct gathering *g, bool cut)
{
    struct fleet_process *p = g->n ? fleet_add_process(g->fleet, &g->process) : NULL;
    if (p) {
        p->cut = cut;
        fleet_add_thread(g->fleet, &g->threads[g->main], &g->main_stack);
        for (size_t i = 0; i < g->n; i++)
            if (i != g->main)
                fleet_add_thread(g->fleet, &g->threads[i], &g->stack);
        if (g->fleet->processes[g->fleet->n_processes - 1].n_threads)
            g->added++;
        else /* there is no room for its stacks */
            fleet_drop_process(g->fleet);
    }
    g->n = g->main = 0;
}

static void end_thread(struct gathering *g, struct fleet_thread *t, bool active, bool main)
{
    t->complete = true;
    t->remote = t->link = FLEET_NONE;
    t->wait = active ? fleet_wait(g->fleet, "runs", "runs", DOES_RUN)
                     : fleet_wait(g->fleet, "is idle", "is idle", DOES_AWAIT);
    if (g->n == MOST_THREADS)
        return;
    fleet_stack_end(g->fleet, &g->stack, t);
    if (main || !g->n) {
        g->main = g->n;
        g->main_stack = g->stack;
    }
    g->threads = array_reserve(g->threads, &g->capacity, g->n + 1, sizeof *g->threads);
    g->threads[g->n++] = *t;
}

static uint32_t gathering_free(struct gathering *g)
{
    uint32_t added = g->added;
    free(g->threads);
    free(g);
    return added;
}

static enum fleet_frame_kind kind_of(const char *file, const char *module)
{
    return !*module && (str_ends(file, ".py") || *file == '<') ? FLEET_PYTHON : FLEET_NATIVE;
}

/* ---- JSON ---- */

static void read_frame(struct gathering *g, struct json_in *j)
{
    struct slice key;
    int64_t line = 0;
    struct frame_in *f = &g->frame;
    f->name[0] = f->file[0] = f->module[0] = '\0';
    while (json_in_key(j, &key)) {
        if (slice_is(key, "name"))
            (void)json_in_text(j, f->name, sizeof f->name);
        else if (slice_is(key, "filename"))
            (void)json_in_text(j, f->file, sizeof f->file);
        else if (slice_is(key, "module"))
            (void)json_in_text(j, f->module, sizeof f->module);
        else if (slice_is(key, "line"))
            (void)json_in_int(j, &line);
        else
            json_in_skip(j);
    }
    f->line = line > 0 && line < INT32_MAX ? (uint32_t)line : 0;
    f->kind = kind_of(f->file, f->module);
    if (!j->wrong)
        (void)fleet_stack_add(g->fleet, &g->stack, f);
}

static void read_frames(struct gathering *g, struct json_in *j)
{
    if (!json_in_array(j))
        return;
    while (json_in_item(j))
        if (json_in_object(j))
            read_frame(g, j);
}

static void read_thread(struct gathering *g, struct json_in *j)
{
    struct slice key;
    int64_t pid = 0;
    int64_t tid = 0;
    char name[256] = "";
    bool active = false;
    bool framed = false;
    g->stack.n = 0;
    while (json_in_key(j, &key)) {
        if (slice_is(key, "pid"))
            (void)json_in_int(j, &pid);
        else if (slice_is(key, "os_thread_id"))
            (void)json_in_int(j, &tid);
        else if (slice_is(key, "thread_name"))
            (void)json_in_text(j, name, sizeof name);
        else if (slice_is(key, "active"))
            (void)json_in_bool(j, &active);
        else if (slice_is(key, "frames")) {
            framed = true;
            read_frames(g, j);
        } else
            json_in_skip(j);
    }
    if (j->wrong || !framed)
        return;
    if (g->n && g->process.pid != pid)
        end_process(g, false);
    g->process.pid = pid;
    struct fleet_thread t = {.name = fleet_text(g->fleet, name), .tid = tid};
    end_thread(g, &t, active, str_eq(name, "MainThread") || (tid && tid == pid));
    byte_source_bears(j->source);
}

uint32_t pyspy_in_json(struct fleet *f, struct json_in *j, uint32_t input)
{
    struct gathering *g = gathering_new(f, input);
    while (json_in_item(j))
        if (json_in_object(j))
            read_thread(g, j);
    end_process(g, j->wrong != NULL);
    return gathering_free(g);
}

/* ---- text ---- */

/* Takes a line, without its end and cut to LINE_BYTES, into RET. */
static size_t take_line(struct byte_source *s, char *ret)
{
    size_t len = 0;
    while (byte_source_more(s)) {
        const char *end = memchr(s->at, '\n', (size_t)(s->end - s->at));
        size_t n = (size_t)((end ? end : s->end) - s->at);
        size_t kept = n < LINE_BYTES - 1 - len ? n : LINE_BYTES - 1 - len;
        memcpy(ret + len, s->at, kept);
        len += kept;
        s->at += n + (end != NULL);
        if (end)
            break;
    }
    ret[len] = '\0';
    return len;
}

struct text_thread { /* the one that is read */
    bool open, active, main;
    struct fleet_thread thread;
};

static void close_thread(struct gathering *g, struct text_thread *t)
{
    if (t->open)
        end_thread(g, &t->thread, t->active, t->main);
    t->open = false;
}

/* "Thread 1234 (active+gil): "MainThread"" */
static bool open_thread(struct gathering *g, struct text_thread *t, const char *line)
{
    const char *state = strstr(line, " (");
    if (!str_starts(line, "Thread ") || !state)
        return false;
    const char *name = strstr(state, ": \"");
    const char *end = name ? strrchr(name + 3, '"') : NULL;
    bool named = name && end;
    close_thread(g, t);
    *t = (struct text_thread){.open = true, .active = str_starts(state, " (active")};
    t->thread.name = named
                         ? texts_add(&g->fleet->functions.texts, name + 3, (size_t)(end - name) - 3)
                         : fleet_text(g->fleet, "");
    t->main = named && str_starts(name, ": \"MainThread\"");
    g->stack.n = 0;
    return true;
}

/* "    load (acme/data.py:31)", "    read (libc.so.6)" */
static bool add_frame(struct gathering *g, char *line)
{
    struct frame_in *f = &g->frame;
    char *file = NULL;
    for (char *at = strstr(line, " ("); at; at = strstr(at + 1, " ("))
        file = at;
    size_t len = strlen(line);
    if (!file || line[len - 1] != ')')
        return false;
    *file = line[len - 1] = '\0';
    file += 2;
    char *number = strrchr(file, ':');
    int64_t value = 0;
    if (number && parse_whole_i64(number + 1, 0, INT32_MAX, &value) == 0)
        *number = '\0';
    f->line = (uint32_t)value;
    (void)snprintf(f->name, sizeof f->name, "%.*s", FRAME_TEXT_BYTES - 1, line + 4);
    (void)snprintf(f->file, sizeof f->file, "%.*s", FRAME_TEXT_BYTES - 1, file);
    f->kind = kind_of(file, "");
    (void)snprintf(f->module, sizeof f->module, "%.*s", FRAME_TEXT_BYTES - 1,
                   f->kind == FLEET_NATIVE ? file : "");
    (void)fleet_stack_add(g->fleet, &g->stack, f);
    return true;
}

static bool begin_process(struct gathering *g, const char *line)
{
    int64_t pid = 0;
    const char *colon = strchr(line, ':');
    if (!str_starts(line, "Process ") || !colon || colon - line > 24)
        return false;
    char number[24];
    (void)snprintf(number, sizeof number, "%.*s", (int)(colon - line) - 8, line + 8);
    if (parse_whole_i64(number, 1, INT32_MAX, &pid) < 0)
        return false;
    end_process(g, false);
    g->process.pid = pid;
    g->process.command = fleet_text(g->fleet, colon[1] == ' ' ? colon + 2 : colon + 1);
    return true;
}

static bool is_ignored(const char *line)
{
    return !*line || str_starts(line, "Python v") || str_starts(line, "Parent Process ") ||
           str_starts(line, "        ") || line[strspn(line, "-")] == '\0';
}

uint32_t pyspy_in_text(struct fleet *f, struct byte_source *s, uint32_t input, const char **wrong)
{
    char line[LINE_BYTES];
    struct text_thread t = {0};
    struct gathering *g = gathering_new(f, input);
    *wrong = NULL;
    while (byte_source_more(s) && *s->at != '{' && *s->at != '[') {
        (void)take_line(s, line);
        if (is_ignored(line))
            continue;
        if (open_thread(g, &t, line)) {
            byte_source_bears(s);
            continue;
        }
        if (t.open && str_starts(line, "    ") && add_frame(g, line))
            continue;
        close_thread(g, &t);
        if (!begin_process(g, line))
            *wrong = "it has lines that are no part of a dump";
    }
    close_thread(g, &t);
    end_process(g, false);
    if (*wrong && !g->added)
        *wrong = "it is no dump of wallspy (--json) or py-spy";
    return gathering_free(g);
}
