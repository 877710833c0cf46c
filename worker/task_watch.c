#include "worker/task_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "worker/task_list.h"

static const int64_t long_ns = NS_PER_S;
static const int64_t longest_look_ns = INT64_C(200) * NS_PER_MS, /* of all processes */
    longest_report_ns = INT64_C(500) * NS_PER_MS;

static uint64_t task_key(const struct target_process *s, uint64_t task, uint64_t future)
{
    const uint64_t words[] = {s->id.ix, task, future};
    return hash_bytes(words, sizeof words);
}

/* ---- a look ---- */

void task_watch_begin(struct task_watch *w, size_t n)
{
    w->now_ns = clock_now_ns();
    w->turns = turns_of(n, longest_look_ns, w->now_ns);
    w->more = false;
    map_clear(&w->now);
}

void task_watch_look(struct task_watch *w, const struct target_process *s)
{
    struct py_awaits *awaits;
    bool more;
    int64_t began_ns = clock_now_ns();
    int64_t end_ns = began_ns + (s->python ? turns_next_ns(&w->turns, began_ns) : 0);
    if (!s->python || py_awaits_new(&awaits, s->python->runtime, s->modules, s->live) < 0)
        return;
    uint64_t *tasks = xcalloc(PY_MAX_TASKS, sizeof *tasks);
    size_t n = py_awaits_tasks(awaits, tasks, &more);
    for (size_t i = 0; i < n; i++) {
        if (clock_now_ns() > end_ns) {
            more = true;
            break;
        }
        uint64_t future = py_await_future(awaits, tasks[i]);
        uint64_t key = task_key(s, tasks[i], future);
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
    struct map taken; /* tasks that are listed */
};

/* For how long it has waited for FUTURE, at least. */
static int64_t waited_ns(const struct report *r, uint64_t task, uint64_t future)
{
    uint64_t since_ns;
    bool known = future && map_get(&r->watch->since, task_key(r->process, task, future), &since_ns);
    return known ? r->watch->now_ns - (int64_t)since_ns : 0;
}

static bool waits_long(void *ctx, const struct py_awaits *awaits, uint64_t task)
{
    return waited_ns(ctx, task, py_await_future(awaits, task)) >= long_ns;
}

static bool is_left(void *ctx, const struct py_awaits *awaits, uint64_t task)
{
    const struct report *r = ctx;
    uint64_t unused;
    (void)awaits;
    return !map_get(&r->taken, task, &unused);
}

/* Tasks that wait in the same functions; where those are of an object that tasks share, for the
 * same one. */
struct task_group {
    struct profile_task_wait wait;
    uint64_t shared; /* that object; 0: none is known */
    uint64_t owner;  /* of the first task */
};
struct task_groups {
    struct task_group *items;
    size_t n, capacity;
    uint32_t n_objects;
};

/* The object that T's innermost function is of, if that is one of those that tasks share
 * (asyncio/queues.py, locks.py); else 0. */
static uint64_t shared_by(const struct profile *p, const struct listed_task *t)
{
    const struct frame *f = profile_get_frame(p, profile_stack_frame(p, t->stack));
    if (f->kind != FRAME_PYTHON)
        return 0;
    const char *file = profile_text(p, profile_get_func(p, f->python.func)->file);
    bool shared = path_ends(file, "/asyncio/queues.py") || path_ends(file, "/asyncio/locks.py");
    return shared ? t->owner : 0;
}

/* The number of the object SHARED, which is 0 for none. */
static uint32_t number_of(struct task_groups *g, uint64_t shared)
{
    for (size_t i = 0; i < g->n && shared; i++)
        if (g->items[i].shared == shared)
            return g->items[i].wait.object;
    return shared ? ++g->n_objects : 0;
}

static struct task_group *group_of(struct task_groups *g, const struct listed_task *t,
                                   uint64_t shared)
{
    const bool for_thread = t->awaits == PY_AWAITS_THREAD;
    const bool for_future = t->awaits == PY_AWAITS_FUTURE;
    for (size_t i = 0; i < g->n; i++) {
        const struct profile_task_wait *w = &g->items[i].wait;
        if (w->stack.ix == t->stack.ix && g->items[i].shared == shared &&
            w->for_thread == for_thread && w->for_future == for_future)
            return &g->items[i];
    }
    g->items = array_reserve(g->items, &g->capacity, g->n + 1, sizeof *g->items);
    g->items[g->n] = (struct task_group){.wait = {.process = t->process,
                                                  .stack = t->stack,
                                                  .object = number_of(g, shared),
                                                  .least_ns = INT64_MAX,
                                                  .of_clients = true,
                                                  .for_thread = for_thread,
                                                  .for_future = for_future},
                                         .shared = shared,
                                         .owner = t->owner};
    return &g->items[g->n++];
}

static void add_task(const struct report *r, const struct listed_task *t, struct task_groups *g)
{
    if (t->does != PY_TASK_WAITS || t->cut || !t->stack.ix)
        return;
    struct task_group *group = group_of(g, t, shared_by(r->process->profile, t));
    group->wait.n++;
    group->wait.of_clients &= t->serves;
    group->wait.apart |= !t->owner || t->owner != group->owner;
    group->wait.least_ns = min_i64(group->wait.least_ns, waited_ns(r, t->task, t->awaited));
}

/* Those that wait for one object for long come first, and then the larger ones. */
static int by_news(const void *a, const void *b)
{
    const struct task_group *x = a;
    const struct task_group *y = b;
    const bool x_long = x->shared && x->wait.least_ns >= long_ns;
    const bool y_long = y->shared && y->wait.least_ns >= long_ns;
    if (x_long != y_long)
        return x_long ? -1 : 1;
    if (x->wait.n != y->wait.n)
        return x->wait.n > y->wait.n ? -1 : 1;
    return (x->wait.stack.ix > y->wait.stack.ix) - (x->wait.stack.ix < y->wait.stack.ix);
}

/* The tasks of R's process: those that have waited for long, and then the others, by END_NS. */
static void list_tasks(struct report *r, struct target_process *s, int64_t longest_ns,
                       struct task_list *ret)
{
    int64_t end_ns = clock_now_ns() + longest_ns;
    *ret = (struct task_list){
        .wanted = waits_long, .wanted_ctx = r, .nameless = true, .longest_ns = longest_ns};
    task_list_add_process(ret, s);
    for (size_t i = 0; i < ret->n; i++)
        map_put(&r->taken, ret->items[i].task, i);
    ret->wanted = is_left;
    ret->longest_ns = end_ns - clock_now_ns();
    if (ret->longest_ns > 0)
        task_list_add_process(ret, s);
    else
        ret->n_more++;
    map_release(&r->taken);
}

void task_watch_report_begin(struct task_watch *w, size_t n)
{
    enum { MOST_GROUPS = 24 };
    w->now_ns = clock_now_ns();
    w->turns = turns_of(n, longest_report_ns, w->now_ns);
    w->most_groups = (size_t)min_u64(MOST_TASK_WAITS / (n ? n : 1), MOST_GROUPS);
    w->most_groups += !w->most_groups;
}

void task_watch_report(struct task_watch *w, struct target_process *s)
{
    enum { MOST_TASKS = 2000 };
    struct report r = {.watch = w, .process = s};
    struct task_list list;
    struct task_groups groups = {.n = 0};
    int64_t longest_ns = s->python ? turns_next_ns(&w->turns, clock_now_ns()) : 0;
    if (longest_ns <= 0)
        return;
    list_tasks(&r, s, longest_ns, &list);
    for (size_t i = 0; i < list.n && i < MOST_TASKS; i++)
        add_task(&r, &list.items[i], &groups);
    if (groups.n)
        qsort(groups.items, groups.n, sizeof *groups.items, by_news);
    for (size_t i = 0; i < groups.n && i < w->most_groups; i++) {
        groups.items[i].wait.more = w->more || list.n_more || list.n > MOST_TASKS;
        groups.items[i].wait.of = (size_t)min_u64(list.n, MOST_TASKS);
        profile_add_task_wait(s->profile, &groups.items[i].wait);
    }
    free(groups.items);
    task_list_release(&list);
}

void task_watch_release(struct task_watch *w)
{
    map_release(&w->since);
    map_release(&w->now);
}
