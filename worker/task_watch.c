#include "worker/task_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "worker/task_list.h"

static const int64_t long_ns = NS_PER_S;
static const int64_t longest_look_ns = INT64_C(100) * NS_PER_MS,
                     longest_report_ns = INT64_C(500) * NS_PER_MS;

static uint64_t key_of(const struct target_process *s, uint64_t task, uint64_t future)
{
    const uint64_t words[] = {s->id.ix, task, future};
    return hash_bytes(words, sizeof words);
}

/* ---- a look ---- */

void task_watch_begin(struct task_watch *w)
{
    w->now_ns = clock_now_ns();
    w->more = false;
    map_clear(&w->now);
}

void task_watch_look(struct task_watch *w, const struct target_process *s)
{
    struct py_awaits *awaits;
    bool more;
    if (!s->python || py_awaits_new(&awaits, s->python->runtime, s->modules, s->live) < 0)
        return;
    uint64_t *tasks = xcalloc(PY_MAX_TASKS, sizeof *tasks);
    size_t n = py_awaits_tasks(awaits, tasks, &more);
    int64_t end_ns = clock_now_ns() + longest_look_ns;
    for (size_t i = 0; i < n; i++) {
        if (clock_now_ns() > end_ns) {
            more = true;
            break;
        }
        uint64_t future = py_await_future(awaits, tasks[i]);
        uint64_t key = key_of(s, tasks[i], future);
        uint64_t since_ns = (uint64_t)w->now_ns;
        if (!future)
            continue;
        (void)map_get(&w->since, key, &since_ns);
        map_put(&w->now, key, since_ns);
    }
    w->more |= more;
    free(tasks);
    py_awaits_free(awaits);
}

void task_watch_end(struct task_watch *w)
{
    struct map before = w->since;
    w->since = w->now;
    w->now = before;
}

/* ---- into the profile ---- */

struct report {
    const struct task_watch *watch;
    const struct target_process *process;
};

/* For how long it has waited for FUTURE, at least. */
static int64_t waited_ns(const struct report *r, uint64_t task, uint64_t future)
{
    uint64_t since_ns;
    bool known = future && map_get(&r->watch->since, key_of(r->process, task, future), &since_ns);
    return known ? clock_now_ns() - (int64_t)since_ns : 0;
}

static bool waits_long(void *ctx, const struct py_awaits *awaits, uint64_t task)
{
    return waited_ns(ctx, task, py_await_future(awaits, task)) >= long_ns;
}

/* Is the innermost function one of the objects that tasks share (asyncio/queues.py, locks.py)? */
static bool is_shared(const struct profile *p, const struct listed_task *t)
{
    if (t->does != PY_TASK_WAITS || t->cut || !t->stack.ix || !t->owner)
        return false;
    const struct frame *f = profile_get_frame(p, profile_stack_frame(p, t->stack));
    if (f->kind != FRAME_PYTHON)
        return false;
    const char *file = profile_text(p, profile_get_func(p, f->python.func)->file);
    return str_ends(file, "/asyncio/queues.py") || str_ends(file, "/asyncio/locks.py");
}

static bool is_same(const struct listed_task *a, const struct listed_task *b)
{
    return a->stack.ix == b->stack.ix && a->owner == b->owner;
}

/* The tasks of LIST from FIRST on that wait for what the first does; none if an earlier one does,
 * too. */
static struct profile_task_wait alike(const struct report *r, const struct task_list *list,
                                      size_t first)
{
    const struct listed_task *of = &list->items[first];
    struct profile_task_wait ret = {
        .process = of->process, .stack = of->stack, .least_ns = INT64_MAX, .of_clients = true};
    for (size_t i = 0; i < list->n; i++) {
        const struct listed_task *t = &list->items[i];
        if (!is_same(t, of))
            continue;
        if (i < first)
            return (struct profile_task_wait){.n = 0};
        ret.n++;
        ret.of_clients &= t->serves;
        ret.least_ns = min_i64(ret.least_ns, waited_ns(r, t->task, t->awaited));
    }
    return ret;
}

void task_watch_report(const struct task_watch *w, struct target_process *s)
{
    enum { LEAST_TASKS = 2, MOST_TASKS = 2000 };
    struct report r = {w, s};
    struct task_list list = {
        .wanted = waits_long, .wanted_ctx = &r, .longest_ns = longest_report_ns};
    task_list_add_process(&list, s);
    bool more = w->more || list.n_more || list.n > MOST_TASKS;
    list.n = list.n < MOST_TASKS ? list.n : MOST_TASKS;
    for (size_t i = 0; i < list.n; i++) {
        if (!is_shared(s->profile, &list.items[i]))
            continue;
        struct profile_task_wait wait = alike(&r, &list, i);
        wait.more = more;
        if (wait.n >= LEAST_TASKS && wait.least_ns >= long_ns)
            profile_add_task_wait(s->profile, &wait);
    }
    task_list_release(&list);
}

void task_watch_release(struct task_watch *w)
{
    map_release(&w->since);
    map_release(&w->now);
}
