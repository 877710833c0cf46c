#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "profile/fields.h"
#include "profile/kept.h"
#include "profile/metric_info.h"
#include "summary/wait_text.h"
#include "tests/support/fixture.h"
#include "tests/support/fixture_side.h"

/* Texts without two alike ones; their numbers begin with 1. */
struct distinct {
    char **items;
    size_t n, capacity;
};
/* What a fixture has of a wait: the wait itself, and its other side as it was read just then. */
struct told_wait {
    uint32_t wait, side; /* 0: none */
};
struct writer {
    const struct profile *p;
    struct text *out;
    uint32_t *frames, *stacks; /* their numbers in the fixture, by id; 0: not needed */
    struct told_wait *waits;   /* by wait id */
    struct distinct wait_rows, side_rows;
};

/* Takes over TEXT. */
static uint32_t number_of(struct distinct *d, struct text *text)
{
    size_t i = 0;
    while (i < d->n && !str_eq(d->items[i], text->s))
        i++;
    if (i < d->n) {
        text_release(text);
        return (uint32_t)i + 1;
    }
    d->items = array_reserve(d->items, &d->capacity, d->n + 1, sizeof *d->items);
    d->items[d->n++] = text->s;
    return (uint32_t)d->n;
}

static void release_distinct(struct distinct *d)
{
    for (size_t i = 0; i < d->n; i++)
        free(d->items[i]);
    free(d->items);
}

static void add_keys(struct writer *w, struct text *out, enum row_kind kind, const void *item)
{
    line_add_fields(out, w->p, row_keys[kind].fields, row_keys[kind].n, item);
}

static void add_row(struct writer *w, const char *word, uint32_t id, enum row_kind kind,
                    const void *item)
{
    text_add(w->out, word);
    line_add_number(w->out, "id", id);
    add_keys(w, w->out, kind, item);
    text_add(w->out, "\n");
}

/* ---- what is needed ---- */

/* Marks S and its callers. */
static void mark_stack(struct writer *w, stack_id s)
{
    for (; s.ix && !w->stacks[s.ix]; s = profile_stack_parent(w->p, s)) {
        frame_id frame = profile_stack_frame(w->p, s);
        w->stacks[s.ix] = 1;
        w->frames[frame.ix] = 1;
    }
}

static void add_side(struct writer *w, const struct side_fields *side, struct text *out)
{
    text_add(out, "");
    line_add_fields(out, w->p, side_keys, n_side_keys, side);
    for (size_t i = 0; i < side->n_listed; i++) {
        text_add(out, "\nof");
        line_add_fields(out, w->p, side_process_keys, n_side_process_keys, &side->listed[i]);
    }
    for (size_t i = 0; i < side->n_events; i++) {
        text_add(out, "\nevent");
        line_add_fields(out, w->p, side_event_keys, n_side_event_keys, &side->events[i]);
    }
}

/* The other end of a socket, as far as it is known, stands for the object. */
static void add_wait_keys(struct writer *w, struct text *out, const struct wait *wait)
{
    const struct row_keys *keys = &row_keys[ROW_WAIT];
    size_t object = 0;
    struct text address = {0};
    while (!str_eq(keys->fields[object].key, "object"))
        object++;
    bool addressed = wait_has_address(wait);
    line_add_fields(out, w->p, keys->fields, object + !addressed, wait);
    if (addressed) {
        wait_add_address(&address, w->p, wait);
        line_add_text(out, "object", address.s);
    }
    line_add_fields(out, w->p, keys->fields + object + 1, keys->n - object - 1, wait);
    text_release(&address);
}

static void tell_wait(struct writer *w, wait_id id)
{
    const struct wait *wait = profile_see_wait(w->p, id);
    struct side_fields fields;
    struct text row = {0};
    struct text side = {0};
    struct told_wait *told = &w->waits[id.ix];
    if (!wait || told->wait)
        return;
    text_add(&row, "");
    add_wait_keys(w, &row, wait);
    told->wait = number_of(&w->wait_rows, &row);
    side_take(&fields, w->p, wait);
    add_side(w, &fields, &side);
    side_release(&fields);
    if (side.len)
        told->side = number_of(&w->side_rows, &side);
    else
        text_release(&side);
}

static void mark_all(struct writer *w)
{
    size_t n;
    const struct profile_task_wait *tasks = profile_task_waits(w->p, &n);
    for (uint32_t id = 1; id <= profile_thread_count(w->p); id++) {
        const struct profile_thread *t = profile_see_thread(w->p, (thread_id){id});
        for (size_t i = 0; i < t->n_runs; i++) {
            mark_stack(w, t->runs[i].at.stack);
            tell_wait(w, t->runs[i].at.wait);
        }
    }
    for (size_t i = 0; i < n; i++)
        mark_stack(w, tasks[i].stack);
}

static void number_marked(uint32_t *marks, uint32_t last)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id <= last; id++)
        marks[id] = marks[id] ? ++n : 0;
}

/* ---- rows ---- */

static void add_facts(struct writer *w)
{
    size_t n;
    const struct profile_metadatum *texts = profile_metadata(w->p, &n);
    text_addf(w->out, "end ns=%lld\n", (long long)profile_end_ns(w->p));
    for (size_t i = 0; i < n; i++) {
        text_add(w->out, "text");
        line_add_text(w->out, "key", texts[i].key);
        line_add_text(w->out, "text", profile_text(w->p, texts[i].text));
        text_add(w->out, "\n");
    }
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++) {
        if (profile_number(w->p, m) == 0)
            continue;
        text_addf(w->out, "metric key=%s", metric_info(m)->key);
        line_add_double(w->out, "value", profile_number(w->p, m));
        text_add(w->out, "\n");
    }
    add_row(w, "host", 0, ROW_HOST, profile_see_host(w->p));
    for (uint32_t id = 1; id <= profile_mount_count(w->p); id++)
        add_row(w, "mount", id, ROW_MOUNT, profile_see_mount(w->p, (mount_id){id}));
}

static void add_moments(struct writer *w)
{
    size_t n;
    const struct user_mark *marks = profile_marks(w->p, &n);
    for (size_t i = 0; i < n; i++)
        add_row(w, "user-mark", 0, ROW_USER_MARK, &marks[i]);
    const struct user_pause *pauses = profile_pauses(w->p, &n);
    for (size_t i = 0; i < n; i++)
        add_row(w, "user-pause", 0, ROW_USER_PAUSE, &pauses[i]);
}

static void add_modules_and_funcs(struct writer *w)
{
    uint32_t modules = 0;
    uint32_t funcs = 0;
    for (uint32_t id = 1; id <= profile_frame_count(w->p); id++) {
        const struct frame *f = profile_get_frame(w->p, (frame_id){id});
        if (w->frames[id] && f->kind == FRAME_NATIVE && f->native.module.ix > modules)
            modules = f->native.module.ix;
        if (w->frames[id] && f->kind == FRAME_PYTHON && f->python.func.ix > funcs)
            funcs = f->python.func.ix;
    }
    for (uint32_t id = 1; id <= modules; id++)
        add_row(w, "module", id, ROW_MODULE, profile_get_module(w->p, (module_id){id}));
    for (uint32_t id = 1; id <= funcs; id++)
        add_row(w, "func", id, ROW_FUNC, profile_get_func(w->p, (func_id){id}));
}

static void add_frames(struct writer *w)
{
    static const enum row_kind of_kinds[] = {
        [FRAME_NATIVE] = ROW_NATIVE, [FRAME_PYTHON] = ROW_PYTHON, [FRAME_MARK] = ROW_MARK};
    for (uint32_t id = 1; id <= profile_frame_count(w->p); id++) {
        const struct frame *f = profile_get_frame(w->p, (frame_id){id});
        size_t n;
        const struct location *locations = profile_locations(w->p, (frame_id){id}, &n);
        if (!w->frames[id])
            continue;
        text_add(w->out, "frame");
        line_add_number(w->out, "id", w->frames[id]);
        add_keys(w, w->out, ROW_FRAME, f);
        add_keys(w, w->out, of_kinds[f->kind], f);
        text_add(w->out, "\n");
        for (size_t i = 0; i < n; i++)
            add_row(w, "location", 0, ROW_LOCATION, &locations[i]);
    }
}

static void add_stacks(struct writer *w)
{
    for (uint32_t id = 1; id <= profile_stack_count(w->p); id++) {
        if (!w->stacks[id])
            continue;
        text_add(w->out, "stack");
        line_add_number(w->out, "id", w->stacks[id]);
        line_add_number(w->out, "parent", w->stacks[profile_stack_parent(w->p, (stack_id){id}).ix]);
        line_add_number(w->out, "frame", w->frames[profile_stack_frame(w->p, (stack_id){id}).ix]);
        text_add(w->out, "\n");
    }
}

static void add_distinct(struct writer *w, const char *word, const struct distinct *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        text_addf(w->out, "%s id=%zu%s\n", word, i + 1, rows->items[i]);
}

static void add_processes(struct writer *w)
{
    for (uint32_t id = 1; id <= profile_process_count(w->p); id++) {
        const struct profile_process *process = profile_see_process(w->p, (process_id){id});
        add_row(w, "process", id, ROW_PROCESS, process);
        for (size_t i = 0; i < process->n_children; i++)
            add_row(w, "child", 0, ROW_CHILD, &process->children[i]);
    }
}

static void add_run(struct writer *w, const struct run *run, int64_t expected_ns)
{
    text_add(w->out, "run");
    if (run->start_ns != expected_ns)
        text_addf(w->out, " start=%lld", (long long)run->start_ns);
    add_keys(w, w->out, ROW_RUN, run);
    const struct told_wait *told = &w->waits[run->at.wait.ix];
    line_add_number(w->out, "stack", w->stacks[run->at.stack.ix]);
    line_add_number(w->out, "wait", told->wait);
    line_add_number(w->out, "side", told->side);
    text_add(w->out, "\n");
}

static void add_threads(struct writer *w)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id <= profile_thread_count(w->p); id++) {
        const struct profile_thread *t = profile_see_thread(w->p, (thread_id){id});
        int64_t at_ns = t->start_ns;
        if (!t->process.ix)
            continue; /* an id that stands for no thread */
        add_row(w, "thread", ++n, ROW_THREAD, t);
        for (size_t i = 0; i < t->n_marks; i++)
            add_row(w, "counts", 0, ROW_COUNTS, &t->marks[i]);
        for (size_t i = 0; i < t->n_runs; i++) {
            add_run(w, &t->runs[i], at_ns);
            at_ns = run_end_ns(&t->runs[i]);
        }
    }
}

/* The names of locks have no list of their own: waits lead to them. */
static void add_locks(struct writer *w)
{
    struct distinct rows = {0};
    for (uint32_t id = 1; id <= profile_wait_count(w->p); id++) {
        if (!w->waits[id].wait)
            continue;
        const struct wait_side *side = &profile_see_wait(w->p, (wait_id){id})->side;
        const char *name = side->addr ? profile_lock_name(w->p, side->blocker.pid, side->addr) : "";
        struct text row = {0};
        if (!*name)
            continue;
        text_addf(&row, " pid=%d address=%llu", side->blocker.pid, (unsigned long long)side->addr);
        line_add_text(&row, "name", name);
        (void)number_of(&rows, &row);
    }
    for (size_t i = 0; i < rows.n; i++)
        text_addf(w->out, "lock%s\n", rows.items[i]);
    release_distinct(&rows);
}

static void add_listeners(struct writer *w)
{
    size_t n;
    const struct listener *listeners = profile_listeners(w->p, &n);
    for (size_t i = 0; i < n; i++)
        add_row(w, "listener", 0, ROW_LISTENER, &listeners[i]);
}

static void add_tasks(struct writer *w)
{
    size_t n;
    const struct profile_task_wait *tasks = profile_task_waits(w->p, &n);
    for (size_t i = 0; i < n; i++) {
        text_add(w->out, "tasks");
        add_keys(w, w->out, ROW_TASKS, &tasks[i]);
        line_add_number(w->out, "stack", w->stacks[tasks[i].stack.ix]);
        text_add(w->out, "\n");
    }
}

int fixture_add(struct text *out, const struct profile *p, struct err *err)
{
    uint32_t frames = profile_frame_count(p);
    uint32_t stacks = profile_stack_count(p);
    struct writer w = {.p = p, .out = out};
    if (profile_time_step_ns(p) > 0)
        return err_set(err, -EINVAL, "the profile is not of full resolution");
    w.frames = xcalloc(frames + 1, sizeof *w.frames);
    w.stacks = xcalloc(stacks + 1, sizeof *w.stacks);
    w.waits = xcalloc(profile_wait_count(p) + 1, sizeof *w.waits);
    mark_all(&w);
    number_marked(w.frames, frames);
    number_marked(w.stacks, stacks);
    text_addf(out, "fixture format=%d\n", FIXTURE_FORMAT);
    add_facts(&w);
    add_moments(&w);
    add_modules_and_funcs(&w);
    add_frames(&w);
    add_stacks(&w);
    add_distinct(&w, "wait", &w.wait_rows);
    add_distinct(&w, "side", &w.side_rows);
    add_processes(&w);
    add_threads(&w);
    add_locks(&w);
    add_listeners(&w);
    add_tasks(&w);
    release_distinct(&w.wait_rows);
    release_distinct(&w.side_rows);
    free(w.frames);
    free(w.stacks);
    free(w.waits);
    return 0;
}
