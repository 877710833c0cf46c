/* The one place that makes today's profile of a fixture. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/fields.h"
#include "profile/metric_info.h"
#include "tests/support/fixture.h"
#include "tests/support/fixture_side.h"

struct reader {
    struct profile *p;
    struct line line;
    char wrong[128]; /* what is wrong with the line */
    int64_t end_ns;
    double numbers[METRIC_COUNT];
    bool numbered[METRIC_COUNT];
    uint32_t n_modules, n_funcs;
    frame_id *frames; /* by their numbers in the fixture, minus 1; so the next ones */
    size_t n_frames, frames_capacity;
    stack_id *stacks;
    size_t n_stacks, stacks_capacity;
    struct wait *waits;
    size_t n_waits, waits_capacity;
    struct side_fields *sides;
    size_t n_sides, sides_capacity;
    struct location *locations; /* of the last frame */
    size_t n_locations, locations_capacity;
    struct profile_child *children; /* of the last process */
    size_t n_children, children_capacity;
    thread_id thread; /* the last one */
    int64_t at_ns;    /* until when its runs go */
};

/* ---- what a row says ---- */

static bool fail(struct reader *r, const char *what, const char *which)
{
    (void)snprintf(r->wrong, sizeof r->wrong, "%s%.60s", what, which);
    return false;
}

static bool read_table(struct reader *r, const struct field *fields, size_t n, void *item)
{
    const char *key = line_read_fields(&r->line, r->p, fields, n, item);
    return key ? fail(r, "not a value of ", key) : true;
}

static bool read_keys(struct reader *r, enum row_kind kind, void *item)
{
    return read_table(r, row_keys[kind].fields, row_keys[kind].n, item);
}

/* Is NUMBER, of something called KEY, one of the N that were there so far? */
static bool is_known(struct reader *r, const char *key, uint32_t number, size_t n)
{
    if (number > n)
        (void)snprintf(r->wrong, sizeof r->wrong, "no %s %u", key, number);
    return number <= n;
}

/* The row's id must be that of the next one. */
static bool is_next(struct reader *r, size_t n)
{
    return line_number(&r->line, "id") == n + 1 ||
           fail(r, "an id that does not follow the last one in ", r->line.word);
}

static const char *value_of(const struct reader *r, const char *key)
{
    const char *value = line_value(&r->line, key);
    return value ? value : "";
}

/* ---- facts ---- */

static bool read_format(struct reader *r)
{
    return line_number(&r->line, "format") == FIXTURE_FORMAT ||
           fail(r, "an unknown format ", value_of(r, "format"));
}

static bool read_end(struct reader *r)
{
    return parse_whole_i64(value_of(r, "ns"), 0, INT64_MAX, &r->end_ns) == 0 ||
           fail(r, "not a value of ", "ns");
}

static bool read_text(struct reader *r)
{
    /* The profile keeps the pointer to the key: a text of its own lives as long. */
    const char *key = profile_text(r->p, profile_string(r->p, value_of(r, "key")));
    profile_set_text(r->p, key, value_of(r, "text"));
    return true;
}

/* One of a metric that is no more is left out. */
static bool read_metric(struct reader *r)
{
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++)
        if (str_eq(metric_info(m)->key, value_of(r, "key"))) {
            r->numbers[m] = strtod(value_of(r, "value"), NULL);
            r->numbered[m] = true;
        }
    return true;
}

static bool read_host(struct reader *r)
{
    return read_keys(r, ROW_HOST, profile_get_host(r->p));
}

static bool read_mount(struct reader *r)
{
    struct profile_mount mount = {.served = false};
    return is_next(r, profile_mount_count(r->p)) && read_keys(r, ROW_MOUNT, &mount) &&
           (profile_mount(r->p, &mount).ix == profile_mount_count(r->p) ||
            fail(r, "twice the same ", "mount"));
}

static bool read_user_mark(struct reader *r)
{
    struct user_mark mark = {.at_ns = 0};
    if (!read_keys(r, ROW_USER_MARK, &mark))
        return false;
    return profile_add_mark(r->p, mark.at_ns, mark.utc_ns, profile_text(r->p, mark.text));
}

static bool read_user_pause(struct reader *r)
{
    struct user_pause pause = {.at_ns = 0};
    if (!read_keys(r, ROW_USER_PAUSE, &pause))
        return false;
    profile_add_pause(r->p, &pause);
    return true;
}

static bool read_lock(struct reader *r)
{
    struct lock_name lock = {.pid = 0};
    if (!read_keys(r, ROW_LOCK, &lock))
        return false;
    profile_name_lock(r->p, lock.pid, lock.addr, profile_text(r->p, lock.name));
    return true;
}

static bool read_listener(struct reader *r)
{
    struct listener listener = {.pid = 0};
    if (!read_keys(r, ROW_LISTENER, &listener))
        return false;
    profile_add_listener(r->p, &listener);
    return true;
}

/* ---- stacks ---- */

static bool read_module(struct reader *r)
{
    struct profile_module module = {.bias = 0};
    return is_next(r, r->n_modules) && read_keys(r, ROW_MODULE, &module) &&
           (profile_module(r->p, &module).ix == ++r->n_modules ||
            fail(r, "twice the same ", "module"));
}

static bool read_func(struct reader *r)
{
    struct func func = {.first_line = 0};
    return is_next(r, r->n_funcs) && read_keys(r, ROW_FUNC, &func) &&
           (profile_func(r->p, &func).ix == ++r->n_funcs || fail(r, "twice the same ", "func"));
}

static bool read_frame_of(struct reader *r, struct frame *f)
{
    switch (f->kind) {
    case FRAME_NATIVE:
        return read_keys(r, ROW_NATIVE, f) &&
               is_known(r, "module", f->native.module.ix, r->n_modules);
    case FRAME_PYTHON:
        if (!read_keys(r, ROW_PYTHON, f) || !is_known(r, "func", f->python.func.ix, r->n_funcs))
            return false;
        return f->python.func.ix || fail(r, "a frame without ", "func");
    case FRAME_MARK:
        return read_keys(r, ROW_MARK, f);
    }
    return fail(r, "a frame without ", "kind");
}

static bool read_frame(struct reader *r)
{
    struct frame f = {.flags = 0};
    if (!is_next(r, r->n_frames) || !read_keys(r, ROW_FRAME, &f) || !read_frame_of(r, &f))
        return false;
    r->frames = array_reserve(r->frames, &r->frames_capacity, r->n_frames + 1, sizeof *r->frames);
    r->frames[r->n_frames++] = profile_frame(r->p, &f);
    r->n_locations = 0;
    return true;
}

static bool read_location(struct reader *r)
{
    struct location location = {.line = 0};
    if (!r->n_frames)
        return fail(r, "no frame before a ", "location");
    if (!read_keys(r, ROW_LOCATION, &location))
        return false;
    r->locations = array_reserve(r->locations, &r->locations_capacity, r->n_locations + 1,
                                 sizeof *r->locations);
    r->locations[r->n_locations++] = location;
    profile_locate(r->p, r->frames[r->n_frames - 1], r->locations, r->n_locations);
    return true;
}

static bool read_stack(struct reader *r)
{
    uint32_t parent = line_number(&r->line, "parent");
    uint32_t frame = line_number(&r->line, "frame");
    if (!is_next(r, r->n_stacks) || !is_known(r, "stack", parent, r->n_stacks) ||
        !is_known(r, "frame", frame, r->n_frames))
        return false;
    if (!frame)
        return fail(r, "a stack without ", "frame");
    stack_id above = parent ? r->stacks[parent - 1] : (stack_id){0};
    r->stacks = array_reserve(r->stacks, &r->stacks_capacity, r->n_stacks + 1, sizeof *r->stacks);
    r->stacks[r->n_stacks++] = profile_push(r->p, above, r->frames[frame - 1]);
    return true;
}

/* ---- waits ---- */

static bool read_wait(struct reader *r)
{
    struct wait wait = {.kind = WAIT_NONE};
    if (!is_next(r, r->n_waits) || !read_keys(r, ROW_WAIT, &wait) ||
        !is_known(r, "mount", wait.mount.ix, profile_mount_count(r->p)))
        return false;
    r->waits = array_reserve(r->waits, &r->waits_capacity, r->n_waits + 1, sizeof *r->waits);
    r->waits[r->n_waits++] = wait;
    return true;
}

static bool read_side(struct reader *r)
{
    if (!is_next(r, r->n_sides))
        return false;
    r->sides = array_reserve(r->sides, &r->sides_capacity, r->n_sides + 1, sizeof *r->sides);
    struct side_fields *side = &r->sides[r->n_sides++];
    *side = (struct side_fields){.holder = BLOCKER_UNKNOWN};
    return read_table(r, side_keys, n_side_keys, side);
}

static bool read_of(struct reader *r)
{
    struct side_fields *side = r->n_sides ? &r->sides[r->n_sides - 1] : NULL;
    if (!side || side->n_listed == SIDE_PROCESSES)
        return fail(r, "no side, or a full one, for ", "of");
    return read_table(r, side_process_keys, n_side_process_keys, &side->listed[side->n_listed++]);
}

static bool read_event(struct reader *r)
{
    struct side_fields *side = r->n_sides ? &r->sides[r->n_sides - 1] : NULL;
    if (!side || side->n_events == SIDE_EVENTS)
        return fail(r, "no side, or a full one, for ", "event");
    struct side_event *event = &side->events[side->n_events++];
    return read_table(r, side_event_keys, n_side_event_keys, event) &&
           (event->kind != EVENT_NONE || fail(r, "an event without ", "kind"));
}

/* The wait that a profile has for WAIT with the other side SIDE; NULL: an unknown one. */
static wait_id wait_with(struct reader *r, struct wait wait, const struct side_fields *side)
{
    static const struct side_fields none;
    side_give(side ? side : &none, r->p, &wait);
    return profile_wait(r->p, &wait);
}

/* The stack and the wait that the row leads to. */
static bool read_spot(struct reader *r, struct spot *ret)
{
    uint32_t stack = line_number(&r->line, "stack");
    uint32_t wait = line_number(&r->line, "wait");
    uint32_t side = line_number(&r->line, "side");
    if (!is_known(r, "stack", stack, r->n_stacks) || !is_known(r, "wait", wait, r->n_waits) ||
        !is_known(r, "side", side, r->n_sides))
        return false;
    ret->stack = stack ? r->stacks[stack - 1] : (stack_id){0};
    if (wait)
        ret->wait = wait_with(r, r->waits[wait - 1], side ? &r->sides[side - 1] : NULL);
    return true;
}

static bool read_tasks(struct reader *r)
{
    struct profile_task_wait tasks = {.n = 0};
    struct spot at = {.stack = {0}};
    if (!read_keys(r, ROW_TASKS, &tasks) || !read_spot(r, &at) ||
        !is_known(r, "process", tasks.process.ix, profile_process_count(r->p)))
        return false;
    tasks.stack = at.stack;
    profile_add_task_wait(r->p, &tasks);
    return tasks.process.ix || fail(r, "tasks without ", "process");
}

/* ---- processes, threads, runs ---- */

static bool read_process(struct reader *r)
{
    struct profile_process process = {.pid = 0};
    if (!is_next(r, profile_process_count(r->p)) || !read_keys(r, ROW_PROCESS, &process) ||
        !is_known(r, "process", process.parent.ix, profile_process_count(r->p)))
        return false;
    (void)profile_process(r->p, &process);
    r->n_children = 0;
    return true;
}

static bool read_child(struct reader *r)
{
    process_id last = {profile_process_count(r->p)};
    struct profile_child child = {.pid = 0};
    if (!last.ix)
        return fail(r, "no process before a ", "child");
    if (!read_keys(r, ROW_CHILD, &child))
        return false;
    r->children =
        array_reserve(r->children, &r->children_capacity, r->n_children + 1, sizeof *r->children);
    r->children[r->n_children++] = child;
    profile_set_children(r->p, last, r->children, r->n_children);
    return true;
}

static bool read_thread(struct reader *r)
{
    struct profile_thread thread = {.tid = 0};
    if (!read_keys(r, ROW_THREAD, &thread) ||
        !is_known(r, "process", thread.process.ix, profile_process_count(r->p)))
        return false;
    if (!thread.process.ix)
        return fail(r, "a thread without ", "process");
    r->thread = profile_thread(r->p, thread.process, thread.tid, thread.name, thread.start_ns);
    *profile_get_thread(r->p, r->thread) = thread;
    r->at_ns = thread.start_ns;
    return true;
}

static struct profile_thread *last_thread(struct reader *r)
{
    if (!r->thread.ix)
        (void)fail(r, "no thread before ", r->line.word);
    return r->thread.ix ? profile_get_thread(r->p, r->thread) : NULL;
}

static bool read_counts(struct reader *r)
{
    struct profile_thread *t = last_thread(r);
    struct count_mark mark = {.at_ns = 0};
    if (!t || !read_keys(r, ROW_COUNTS, &mark))
        return false;
    struct counts whole = t->counts;
    t->counts = mark.counts;
    profile_mark_counts(r->p, r->thread, mark.at_ns);
    profile_get_thread(r->p, r->thread)->counts = whole;
    return true;
}

static bool read_run(struct reader *r)
{
    struct run run = {.start_ns = r->at_ns};
    const char *start = line_value(&r->line, "start");
    if (!last_thread(r) || !read_keys(r, ROW_RUN, &run) || !read_spot(r, &run.at))
        return false;
    if (start && parse_whole_i64(start, INT64_MIN, INT64_MAX, &run.start_ns) < 0)
        return fail(r, "not a value of ", "start");
    profile_add_run(r->p, r->thread, &run);
    r->at_ns = run_end_ns(&run);
    return true;
}

/* ---- the whole ---- */

static const struct {
    const char *word;
    bool (*read)(struct reader *r);
} rows[] = {
    {"run", read_run},
    {"stack", read_stack},
    {"frame", read_frame},
    {"location", read_location},
    {"func", read_func},
    {"module", read_module},
    {"counts", read_counts},
    {"thread", read_thread},
    {"wait", read_wait},
    {"side", read_side},
    {"of", read_of},
    {"event", read_event},
    {"process", read_process},
    {"child", read_child},
    {"metric", read_metric},
    {"text", read_text},
    {"host", read_host},
    {"mount", read_mount},
    {"lock", read_lock},
    {"listener", read_listener},
    {"tasks", read_tasks},
    {"end", read_end},
    {"fixture", read_format},
    {"user-mark", read_user_mark},
    {"user-pause", read_user_pause},
};

/* Rows of other readers' are left out. */
static bool read_row(struct reader *r, char *s)
{
    const char *wrong = line_parse(&r->line, s);
    if (wrong)
        return fail(r, wrong, "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_eq(rows[i].word, r->line.word))
            return rows[i].read(r);
    return true;
}

/* Returns the number of the line that cannot be read; 0: all can. */
static size_t read_rows(struct reader *r, char *text)
{
    size_t number = 0;
    while (*text) {
        char *end = text + strcspn(text, "\n");
        char *next = *end ? end + 1 : end;
        number++;
        *end = '\0';
        if (*text && !str_starts(text, "note ") && !read_row(r, text))
            return number;
        text = next;
    }
    return 0;
}

static void release(struct reader *r)
{
    for (size_t i = 0; i < r->n_sides; i++)
        side_release(&r->sides[i]);
    free(r->sides);
    free(r->waits);
    free(r->frames);
    free(r->stacks);
    free(r->locations);
    free(r->children);
}

struct profile *fixture_parse(char *text, const char *name, struct err *err)
{
    struct reader r = {.p = profile_new(0)};
    size_t wrong = read_rows(&r, text);
    if (wrong)
        (void)err_set(err, -EINVAL, "%s:%zu: %s", name, wrong, r.wrong);
    release(&r);
    if (wrong)
        return profile_free(r.p);
    profile_end(r.p, r.end_ns);
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++)
        if (r.numbered[m])
            profile_set_number(r.p, m, r.numbers[m]);
    return r.p;
}
