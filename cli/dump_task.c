#include "cli/dump_task.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "summary/frame_name.h"
#include "summary/frame_role.h"
#include "summary/python_module.h"
#include "summary/short_name.h"

enum { MOST_FRAMES = 10, ENDS = 4, NAME_COLUMNS = 48, PATH_COLUMNS = 40 };

/* The waits of asyncio's functions, by the beginning of their names; the first that fits. */
static const struct {
    const char *function, *kind;
} kinds[] = {
    {"Queue.", "queue"},
    {"Lock.", "lock"},
    {"Event.", "event"},
    {"Condition.", "condition"},
    {"Barrier.", "barrier"},
    {"Semaphore.", "semaphore"},
    {"StreamReader", "stream"},
    {"StreamWriter.", "stream"},
    {"FlowControlMixin.", "stream"},
    {"BaseSelectorEventLoop.sock", "socket"},
    {"TaskGroup.", "tasks"},
    {"to_thread", "thread"},
    {"Server.", "server"},
    {"Process.", "process"},
    {"sleep", "sleep"},
    {"wait", "tasks"},
};

static bool is_asyncio(const struct shown_frame *f)
{
    return f->kind == SHOWN_PYTHON && f->file && python_is_asyncio(f->file);
}

static const char *last_component(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static const char *kind_of_function(const char *name)
{
    if (str_starts(name, "wait_for")) /* its time-out says nothing of what it waits for */
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_starts(name, kinds[i].function))
            return kinds[i].kind;
    return NULL;
}

/* Where the functions of asyncio begin at the inner end of STACK, N frames; N: there are none. */
static size_t asyncio_from(const struct shown_frame *stack, size_t n)
{
    size_t from = n;
    while (from > 0 && is_asyncio(&stack[from - 1]))
        from--;
    return from;
}

/* Forked processes have objects at one address. */
uint64_t dump_task_key(process_id process, uint64_t address)
{
    return hash_u64(address) ^ hash_u64((uint64_t)process.ix << 1);
}

const struct listed_task *dump_task_awaited(const struct dump *d, const struct listed_task *t)
{
    uint64_t at = 0;
    if (t->does != PY_TASK_WAITS || t->awaits != PY_AWAITS_TASK ||
        !map_get(&d->tasks_by_address, dump_task_key(t->process, t->awaited), &at))
        return NULL;
    const struct listed_task *other = &d->tasks.items[at];
    return other->process.ix == t->process.ix ? other : NULL;
}

const char *dump_task_kind(struct dump *d, const struct listed_task *t)
{
    size_t n = 0;
    if (t->does != PY_TASK_WAITS)
        return NULL;
    const struct shown_frame *stack = view_stack(d->view, spot_of_stack(t->stack), &n);
    for (size_t i = asyncio_from(stack, n); i < n; i++) {
        const char *kind = kind_of_function(stack[i].name);
        if (kind)
            return kind;
    }
    static const char *const others[] = {[PY_AWAITS_OTHER] = "other",
                                         [PY_AWAITS_FUTURE] = "future",
                                         [PY_AWAITS_TASK] = "task",
                                         [PY_AWAITS_GATHER] = "gather",
                                         [PY_AWAITS_THREAD] = "thread"};
    return others[t->awaits];
}

const char *dump_task_method(struct dump *d, const struct listed_task *t)
{
    size_t n = 0;
    if (t->does != PY_TASK_WAITS)
        return NULL;
    const struct shown_frame *stack = view_stack(d->view, spot_of_stack(t->stack), &n);
    if (n == 0 || !is_asyncio(&stack[n - 1]) || !strchr(stack[n - 1].name, '.'))
        return NULL;
    return stack[n - 1].name;
}

/* ---- words ---- */

static void add_arrow(struct text *out, size_t start)
{
    text_add(out, out->len > start ? " > " : "");
}

/* "handle app.py:31"; of asyncio's own functions the name. */
static void add_frame(const struct shown_frame *f, bool full, struct text *out)
{
    struct text name = {0};
    struct text path = {0};
    text_add(&path, "");
    if (full)
        text_add_tame(&name, f->name, strlen(f->name));
    else
        frame_add_name(&name, f);
    if (f->file && (full || !is_asyncio(f))) {
        const char *file = full ? f->file : path_base(f->file);
        text_add_tame(&path, file, strlen(file));
    }
    short_name_add(out, name.len ? name.s : "?", full ? SIZE_MAX : NAME_COLUMNS);
    if (path.len) {
        text_add(out, " ");
        text_add_cut(out, path.s, path.len, full ? path.len : PATH_COLUMNS);
        if (f->current_line)
            text_addf(out, ":%u", f->current_line);
    }
    text_release(&name);
    text_release(&path);
}

/* Asyncio's inner functions say no more than those that call them. */
static bool is_inner(const struct shown_frame *f)
{
    const char *last = last_component(f->name);
    return is_asyncio(f) && (f->name[0] == '_' || (last[0] == '_' && !str_starts(last, "__a")));
}

/* Is the frame at I of STACK the same as the one before it? */
static bool is_repeated(const struct shown_frame *stack, size_t i)
{
    return i > 0 && stack[i].id == stack[i - 1].id &&
           stack[i].current_line == stack[i - 1].current_line;
}

static bool is_shown(const struct shown_frame *stack, size_t i, bool full)
{
    const struct shown_frame *f = &stack[i];
    bool glue = f->kind != SHOWN_MARK && frame_role(f, false) == ROLE_GLUE;
    return full || !(glue || is_inner(f) || is_repeated(stack, i));
}

static void add_frames(const struct shown_frame *stack, size_t n, bool full, struct text *out)
{
    size_t shown = 0;
    size_t all = 0;
    size_t start = out->len;
    for (size_t i = 0; i < n; i++)
        all += is_shown(stack, i, full);
    if (!all) /* asyncio's own task, as one that accepts a connection */
        all = n;
    bool every = full || all == n;
    for (size_t i = 0; i < n; i++) {
        size_t times = 1;
        if (!is_shown(stack, i, every))
            continue;
        shown++;
        if (!full && all > MOST_FRAMES && shown > ENDS && shown <= all - ENDS) {
            if (shown == ENDS + 1)
                text_addf(out, " > … %zu more", all - (size_t)2 * ENDS);
            continue;
        }
        add_arrow(out, start);
        add_frame(&stack[i], full, out);
        while (!every && i + times < n && is_repeated(stack, i + times))
            times++;
        if (times > 1)
            text_addf(out, " (%zu times)", times);
    }
}

static void add_task_name(const struct dump *d, const struct listed_task *t, bool numbered,
                          struct text *out)
{
    struct text tame = {0};
    const char *name = t && t->name.ix ? profile_text(d->profile, t->name) : "?";
    text_add_tame(&tame, name, strlen(name));
    struct text grouped = {0};
    if (numbered)
        text_add(&grouped, tame.s);
    else
        text_add_group(&grouped, tame.s);
    text_add(out, "task ");
    text_add_cut(out, grouped.len ? grouped.s : "?", grouped.len ? grouped.len : 1, NAME_COLUMNS);
    text_release(&tame);
    text_release(&grouped);
}

/* The words behind the functions. */
static void add_awaited(struct dump *d, const struct listed_task *t, bool numbered, bool in_asyncio,
                        size_t start, struct text *out)
{
    if (t->awaits == PY_AWAITS_FUTURE && in_asyncio)
        return;
    add_arrow(out, start);
    switch (t->awaits) {
    case PY_AWAITS_TASK:
        add_task_name(d, dump_task_awaited(d, t), numbered, out);
        break;
    case PY_AWAITS_GATHER:
        text_add(out, "gather");
        break;
    case PY_AWAITS_THREAD:
        text_add(out, "a thread's result");
        break;
    case PY_AWAITS_FUTURE:
        text_add(out, "a Future");
        break;
    case PY_AWAITS_OTHER:
        text_add(out, "an awaitable");
        break;
    }
}

void dump_task_add(struct dump *d, const struct listed_task *t, bool full, bool numbered,
                   struct text *out)
{
    size_t start = out->len;
    size_t n = 0;
    const struct shown_frame *stack =
        t->stack.ix ? view_stack(d->view, spot_of_stack(t->stack), &n) : NULL;
    bool in_asyncio = n && is_asyncio(&stack[n - 1]);
    add_frames(stack, n, full, out);
    if (t->cut)
        text_add(out, " > …");
    switch (t->does) {
    case PY_TASK_WAITS:
        add_awaited(d, t, numbered, in_asyncio, start, out);
        break;
    case PY_TASK_DUE:
        text_add(out, ": due to run");
        break;
    case PY_TASK_RUNS:
        text_add(out, ": runs");
        break;
    case PY_TASK_UNKNOWN:
        text_add(out, "a coroutine that is none of Python's");
        break;
    }
}
