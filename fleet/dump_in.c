#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "fleet/readers.h"
#include "fleet/wait_words.h"

enum { SHORT_BYTES = 256, COMMAND_BYTES = 512 };

struct reader {
    struct fleet *fleet;
    struct json_in *j;
    uint32_t input, document;
    struct frame_in frame;
    struct fleet_stack stack;
};

static uint32_t text_value(struct reader *r)
{
    char text[COMMAND_BYTES];
    return fleet_text(r->fleet, json_in_text(r->j, text, sizeof text) ? text : "");
}

/* A number that is written as a text. */
static int64_t number_value(struct reader *r)
{
    char text[32];
    int64_t value;
    bool good =
        json_in_text(r->j, text, sizeof text) && parse_whole_i64(text, 0, INT32_MAX, &value) == 0;
    return good ? value : -1;
}

/* ---- frames ---- */

static void read_frame(struct reader *r)
{
    struct slice key;
    struct frame_in *f = &r->frame;
    char kind[16] = "";
    int64_t line = 0;
    f->name[0] = f->file[0] = f->module[0] = '\0';
    f->inlined = false;
    while (json_in_key(r->j, &key)) {
        if (slice_is(key, "kind"))
            (void)json_in_text(r->j, kind, sizeof kind);
        else if (slice_is(key, "name"))
            (void)json_in_text(r->j, f->name, sizeof f->name);
        else if (slice_is(key, "file") && *kind != 'n') /* a native one's module says more */
            (void)json_in_text(r->j, f->file, sizeof f->file);
        else if (slice_is(key, "module"))
            (void)json_in_text(r->j, f->module, sizeof f->module);
        else if (slice_is(key, "line"))
            (void)json_in_int(r->j, &line);
        else if (slice_is(key, "inlined"))
            (void)json_in_bool(r->j, &f->inlined);
        else
            json_in_skip(r->j);
    }
    f->line = line > 0 && line < INT32_MAX ? (uint32_t)line : 0;
    f->kind = str_eq(kind, "python")   ? FLEET_PYTHON
              : str_eq(kind, "native") ? FLEET_NATIVE
                                       : FLEET_NOTE;
}

/* Reads the object at the source's beginning. */
static void read_new_frame(struct reader *r)
{
    struct byte_source *s = r->j->source;
    const char *raw = s->at;
    unsigned reads = s->reads;
    if (!json_in_object(r->j))
        return;
    read_frame(r);
    if (r->j->wrong)
        return;
    struct memo_frame frame = fleet_stack_add(r->fleet, &r->stack, &r->frame);
    if (s->reads == reads)
        frame_memo_add(&r->fleet->memo, raw, (size_t)(s->at - raw), &frame);
}

static void read_frames(struct reader *r)
{
    struct memo_frame known;
    struct frame_memo *memo = &r->fleet->memo;
    r->stack.n = 0;
    if (!json_in_array(r->j))
        return;
    frame_memo_begin(memo);
    while (json_in_item(r->j) && json_in_peek(r->j) >= 0) {
        if (frame_memo_take(memo, r->j->source, &known))
            fleet_stack_push(&r->stack, &known);
        else
            read_new_frame(r);
    }
}

/* ---- threads ---- */

static void read_call(struct reader *r, struct wait_in *w)
{
    struct slice key;
    if (!json_in_object(r->j))
        return;
    while (json_in_key(r->j, &key)) {
        if (slice_is(key, "name"))
            (void)json_in_text(r->j, w->call, sizeof w->call);
        else if (slice_is(key, "path"))
            (void)json_in_text(r->j, w->path, sizeof w->path);
        else
            json_in_skip(r->j);
    }
}

/* What an epoll, a poll or a select waits for. */
static void read_remotes(struct reader *r, struct fleet_link *link)
{
    char remote[SHORT_BYTES];
    link->polls = true;
    link->first_remote = (uint32_t)r->fleet->n_remotes;
    if (!json_in_array(r->j))
        return;
    while (json_in_item(r->j))
        if (json_in_text(r->j, remote, sizeof remote))
            fleet_add_remote(r->fleet, remote);
    link->n_remotes = (uint32_t)r->fleet->n_remotes - link->first_remote;
}

/* False: it is no such key. */
static bool read_match_key(struct reader *r, struct slice key, struct wait_in *w)
{
    int64_t more = 0;
    if (slice_is(key, "remotes"))
        read_remotes(r, &w->link);
    else if (slice_is(key, "more"))
        w->link.more = json_in_int(r->j, &more) && more != 0;
    else if (slice_is(key, "listens"))
        (void)json_in_bool(r->j, &w->link.listens);
    else if (slice_is(key, "device"))
        (void)json_in_text(r->j, w->device, sizeof w->device);
    else if (slice_is(key, "inode"))
        (void)json_in_text(r->j, w->inode, sizeof w->inode);
    else if (slice_is(key, "offset"))
        (void)json_in_text(r->j, w->offset, sizeof w->offset);
    else if (slice_is(key, "owner"))
        (void)json_in_int(r->j, &w->owner);
    else
        return false;
    return true;
}

static void read_wait(struct reader *r, struct wait_in *w)
{
    struct slice key;
    if (!json_in_object(r->j))
        return;
    while (json_in_key(r->j, &key)) {
        if (slice_is(key, "kind"))
            (void)json_in_text(r->j, w->kind, sizeof w->kind);
        else if (slice_is(key, "pid"))
            (void)json_in_int(r->j, &w->pid);
        else if (slice_is(key, "tid"))
            (void)json_in_int(r->j, &w->tid);
        else if (slice_is(key, "remote"))
            (void)json_in_text(r->j, w->remote, sizeof w->remote);
        else if (slice_is(key, "what"))
            (void)json_in_text(r->j, w->what, sizeof w->what);
        else if (slice_is(key, "name"))
            (void)json_in_text(r->j, w->name, sizeof w->name);
        else if (!read_match_key(r, key, w))
            json_in_skip(r->j);
    }
}

static enum fleet_ran ran_value(struct reader *r)
{
    bool ran;
    return !json_in_bool(r->j, &ran) ? RAN_UNKNOWN : ran ? RAN_SOME : RAN_NOT;
}

static void read_tasks(struct reader *r);

static void read_thread_key(struct reader *r, struct slice key, struct fleet_thread *t,
                            struct wait_in *w)
{
    if (slice_is(key, "name"))
        t->name = text_value(r);
    else if (slice_is(key, "tid"))
        (void)json_in_int(r->j, &t->tid);
    else if (slice_is(key, "state"))
        (void)json_in_text(r->j, w->state, sizeof w->state);
    else if (slice_is(key, "syscall"))
        read_call(r, w);
    else if (slice_is(key, "wchan"))
        (void)json_in_text(r->j, w->wchan, sizeof w->wchan);
    else if (slice_is(key, "gil"))
        (void)json_in_text(r->j, w->gil, sizeof w->gil);
    else if (slice_is(key, "waits_for"))
        read_wait(r, w);
    else if (slice_is(key, "ran"))
        t->ran = ran_value(r);
    else if (slice_is(key, "spun"))
        (void)json_in_bool(r->j, &w->spun);
    else if (slice_is(key, "complete"))
        (void)json_in_bool(r->j, &t->complete);
    else if (slice_is(key, "frames"))
        read_frames(r);
    else
        json_in_skip(r->j);
}

static uint32_t file_text(struct fleet *f, const char *device, const char *inode)
{
    char text[64 + 2];
    (void)snprintf(text, sizeof text, "%s %s", device, inode);
    return fleet_text(f, text);
}

static uint32_t link_of(struct fleet *f, const struct wait_in *w)
{
    struct fleet_link link = w->link;
    if (!*w->inode && !link.polls)
        return FLEET_NONE;
    link.file = *w->inode ? file_text(f, w->device, w->inode) : FLEET_NONE;
    link.offset = fleet_text(f, w->offset);
    link.owner = w->owner;
    return fleet_add_link(f, &link);
}

static void end_thread(struct reader *r, struct fleet_thread *t, const struct wait_in *w)
{
    fleet_stack_end(r->fleet, &r->stack, t);
    t->wait = wait_words_add(r->fleet, w);
    t->ran = w->spun && t->ran == RAN_SOME ? RAN_SPUN : t->ran;
    t->other_pid = w->pid;
    t->other_tid = w->tid;
    t->remote = *w->remote ? fleet_text(r->fleet, w->remote) : FLEET_NONE;
    t->link = link_of(r->fleet, w);
    fleet_add_thread(r->fleet, t, &r->stack);
    byte_source_bears(r->j->source);
}

/* A thread is added before its tasks are read, so that the main thread comes first. */
static void read_thread(struct reader *r)
{
    struct slice key;
    struct fleet_thread t = {.name = fleet_text(r->fleet, "")};
    struct wait_in w = {0};
    bool added = false;
    r->stack.n = 0;
    while (json_in_key(r->j, &key)) {
        bool tasks = slice_is(key, "tasks");
        if (tasks && !added) {
            end_thread(r, &t, &w);
            added = true;
        }
        if (tasks)
            read_tasks(r);
        else
            read_thread_key(r, key, &t, &w);
    }
    if (added || r->j->wrong)
        return;
    end_thread(r, &t, &w);
}

/* ---- tasks of asyncio ---- */

static void read_task(struct reader *r)
{
    struct slice key;
    struct wait_in w = {0};
    char state[16] = "";
    struct fleet_thread t = {
        .task = true, .remote = FLEET_NONE, .link = FLEET_NONE, .name = fleet_text(r->fleet, "")};
    r->stack.n = 0;
    while (json_in_key(r->j, &key)) {
        if (slice_is(key, "state"))
            (void)json_in_text(r->j, state, sizeof state);
        else if (slice_is(key, "waits_for"))
            read_wait(r, &w);
        else if (slice_is(key, "complete"))
            (void)json_in_bool(r->j, &t.complete);
        else if (slice_is(key, "frames"))
            read_frames(r);
        else
            json_in_skip(r->j);
    }
    if (r->j->wrong)
        return;
    char words[64];
    (void)snprintf(words, sizeof words, "awaits a %s", *w.kind ? w.kind : "Future");
    bool waits = str_eq(state, "waiting");
    fleet_stack_end(r->fleet, &r->stack, &t);
    t.wait = fleet_wait(r->fleet, waits ? words : "runs", waits ? words : "runs",
                        waits ? DOES_AWAIT : DOES_RUN);
    fleet_add_thread(r->fleet, &t, &r->stack);
}

static void read_tasks(struct reader *r)
{
    if (!json_in_array(r->j))
        return;
    while (json_in_item(r->j))
        if (json_in_object(r->j))
            read_task(r);
}

/* ---- processes ---- */

static uint32_t command_value(struct reader *r)
{
    struct text command = {0};
    char word[COMMAND_BYTES];
    if (!json_in_array(r->j))
        return fleet_text(r->fleet, "");
    while (json_in_item(r->j))
        if (json_in_text(r->j, word, sizeof word) && command.len < COMMAND_BYTES)
            text_addf(&command, "%s%s", command.len ? " " : "", word);
    uint32_t id = fleet_text(r->fleet, command.len ? command.s : "");
    text_release(&command);
    return id;
}

static void read_process_key(struct reader *r, struct slice key, struct fleet_process *p)
{
    if (slice_is(key, "pid"))
        (void)json_in_int(r->j, &p->pid);
    else if (slice_is(key, "rank"))
        p->rank = number_value(r);
    else if (slice_is(key, "world_size"))
        p->world = number_value(r);
    else if (slice_is(key, "local_rank"))
        p->local_rank = number_value(r);
    else if (slice_is(key, "inherits_rank"))
        (void)json_in_bool(r->j, &p->inherits);
    else if (slice_is(key, "net_ns"))
        (void)json_in_int(r->j, &p->net_ns);
    else if (slice_is(key, "command"))
        p->command = command_value(r);
    else
        json_in_skip(r->j);
}

static void read_threads(struct reader *r)
{
    if (!json_in_array(r->j))
        return;
    while (json_in_item(r->j))
        if (json_in_object(r->j))
            read_thread(r);
}

static void read_connection(struct reader *r)
{
    struct slice key;
    char local[64] = "";
    char remote[64] = "";
    while (json_in_key(r->j, &key)) {
        if (slice_is(key, "local"))
            (void)json_in_text(r->j, local, sizeof local);
        else if (slice_is(key, "remote"))
            (void)json_in_text(r->j, remote, sizeof remote);
        else
            json_in_skip(r->j);
    }
    if (!r->j->wrong)
        fleet_add_connection(r->fleet, local, remote);
}

static void read_connections(struct reader *r)
{
    if (!json_in_array(r->j))
        return;
    while (json_in_item(r->j))
        if (json_in_object(r->j))
            read_connection(r);
}

static void read_shared_file(struct reader *r)
{
    struct slice key;
    char device[32] = "";
    char inode[32] = "";
    while (json_in_key(r->j, &key)) {
        if (slice_is(key, "device"))
            (void)json_in_text(r->j, device, sizeof device);
        else if (slice_is(key, "inode"))
            (void)json_in_text(r->j, inode, sizeof inode);
        else
            json_in_skip(r->j);
    }
    if (!r->j->wrong)
        fleet_add_shared(r->fleet, file_text(r->fleet, device, inode));
}

static void read_shared(struct reader *r)
{
    if (!json_in_array(r->j))
        return;
    while (json_in_item(r->j))
        if (json_in_object(r->j))
            read_shared_file(r);
}

/* Keys may stand in any order, but that tasks of no thread count only behind the threads. */
static void read_process(struct reader *r)
{
    struct slice key;
    struct fleet *f = r->fleet;
    struct fleet_process p = {.rank = -1,
                              .world = -1,
                              .local_rank = -1,
                              .command = fleet_text(f, ""),
                              .input = r->input,
                              .document = r->document};
    size_t at = f->n_processes;
    if (!fleet_add_process(f, &p)) {
        while (json_in_key(r->j, &key))
            json_in_skip(r->j);
        return;
    }
    while (json_in_key(r->j, &key)) {
        if (slice_is(key, "threads"))
            read_threads(r);
        else if (slice_is(key, "connections"))
            read_connections(r);
        else if (slice_is(key, "shared"))
            read_shared(r);
        else if (slice_is(key, "tasks") && f->processes[at].n_threads)
            read_tasks(r);
        else
            read_process_key(r, key, &p);
    }
    p.cut = r->j->wrong != NULL;
    fleet_describe_process(f, &p);
    if (!f->processes[at].n_threads)
        fleet_drop_process(f);
}

static void read_processes(struct reader *r)
{
    if (!json_in_array(r->j))
        return;
    while (json_in_item(r->j))
        if (json_in_object(r->j))
            read_process(r);
}

static bool is_ours(struct reader *r)
{
    char schema[SHORT_BYTES];
    return json_in_text(r->j, schema, sizeof schema) && str_eq(schema, "dump/1");
}

uint32_t dump_in_read(struct fleet *f, struct json_in *j, uint32_t input, bool *foreign)
{
    struct slice key;
    size_t before = f->n_processes;
    bool ours = false;
    uint32_t host = fleet_text(f, "");
    uint32_t time = host;
    uint32_t boot = host;
    struct reader *r = xcalloc(1, sizeof *r);
    r->fleet = f;
    r->j = j;
    r->input = input;
    r->document = f->n_documents++;
    while (json_in_key(j, &key)) {
        if (slice_is(key, "schema"))
            ours = is_ours(r);
        else if (slice_is(key, "host"))
            host = text_value(r);
        else if (slice_is(key, "time"))
            time = text_value(r);
        else if (slice_is(key, "boot_id"))
            boot = text_value(r);
        else if (slice_is(key, "processes"))
            read_processes(r);
        else
            json_in_skip(j);
    }
    *foreign = !ours && !j->wrong;
    while (!ours && f->n_processes > before)
        fleet_drop_process(f);
    for (size_t i = before; i < f->n_processes; i++) {
        f->processes[i].host = host;
        f->processes[i].machine = *fleet_see_text(f, boot) ? boot : host;
        f->processes[i].time = time;
    }
    free(r);
    return (uint32_t)(f->n_processes - before);
}
