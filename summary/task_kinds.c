#include "summary/task_kinds.h"

#include "base/clock.h"
#include "summary/frame_role.h"
#include "summary/known.h"
#include "summary/task_waits.h"

/* ---- what is wrong ---- */

/* Functions of asyncio's, and what is wrong if several tasks wait in one for seconds.  A worker
 * waits for work in Queue.get(), and many tasks for their turn at a semaphore that limits them:
 * there only tasks that serve a client are kept from something. */
static const struct task_kind {
    const char *function, *what;
    bool of_clients;
} kinds[] = {
    {"Queue.put", "one full queue", false},
    {"Queue.join", "one queue to be worked off", false},
    {"Queue.get", "one empty queue", true},
    {"Lock.acquire", "one lock", false},
    {"Semaphore.acquire", "one semaphore", true},
};

static bool counts(const struct profile_task_wait *wait, const struct task_kind *kind)
{
    return !wait->apart && wait->n >= 2 && (wait->of_clients || !kind->of_clients);
}

const char *task_fault_of(const struct judgement *s, const struct profile_task_wait *wait)
{
    size_t n = 0;
    const struct shown_frame *stack = task_stack(s, wait, &n);
    if (!n || wait->least_ns < NS_PER_S)
        return NULL;
    /* Who serves a slow client has to wait for it; another task, even a single one, keeps what it
     * has for all others. */
    if (known_does(&stack[n - 1], DOES_DRAIN))
        return wait->of_clients ? NULL : "a peer to read what was sent";
    if (!frame_is_asyncio(&stack[n - 1]))
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_eq(stack[n - 1].name, kinds[i].function) && counts(wait, &kinds[i]))
            return kinds[i].what;
    return NULL;
}

/* ---- what is no more than a fact ---- */

/* Functions of asyncio's in which tasks wait for what others of them have.  OWN: so many functions
 * of others lead there; fewer are workers, which wait for work.  APART: as many where each has an
 * object of its own; 0: that is no limit. */
static const struct task_fact {
    const char *function, *what;
    size_t own, apart;
} facts[] = {
    {"Semaphore.acquire", "one semaphore", 1, 0}, {"Lock.acquire", "one lock", 1, 0},
    {"Queue.put", "one full queue", 1, 0},        {"Queue.get", "one queue", 2, 0},
    {"Condition.wait", "one condition", 2, 0},    {"Event.wait", "one event", 1, 3},
};

static size_t count_own(const struct shown_frame *stack, size_t n)
{
    size_t own = 0;
    for (size_t i = 0; i < n; i++)
        own += !frame_is_asyncio(&stack[i]);
    return own;
}

static const char *fact_in(const char *function, size_t own, bool apart)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (!str_eq(function, facts[i].function))
            continue;
        if (apart)
            return facts[i].apart && own >= facts[i].apart ? "" : NULL;
        return own >= facts[i].own ? facts[i].what : NULL;
    }
    return NULL;
}

static uint32_t innermost_of(const struct judgement *s, const struct profile_task_wait *wait)
{
    size_t n = 0;
    const struct shown_frame *stack = task_stack(s, wait, &n);
    return n ? stack[n - 1].id : 0;
}

bool task_waits_are_alike(const struct judgement *s, const struct profile_task_wait *a,
                          const struct profile_task_wait *b)
{
    return a->process.ix == b->process.ix && a->object == b->object && a->apart == b->apart &&
           a->for_future == b->for_future && a->for_thread == b->for_thread &&
           innermost_of(s, a) == innermost_of(s, b);
}

size_t task_count_alike(const struct judgement *s, const struct profile_task_wait *wait)
{
    size_t n = 0;
    size_t tasks = 0;
    const struct profile_task_wait *all = profile_task_waits(s->p, &n);
    for (size_t i = 0; i < n; i++)
        tasks += task_waits_are_alike(s, &all[i], wait) ? all[i].n : 0;
    return tasks;
}

const char *task_fact_of(const struct judgement *s, const struct profile_task_wait *wait)
{
    enum { LEAST_TASKS = 4, LEAST_OWN = 2 };
    size_t n = 0;
    size_t tasks = task_count_alike(s, wait);
    const struct shown_frame *stack = task_stack(s, wait, &n);
    if (!n || tasks < LEAST_TASKS || 2 * tasks < wait->of || !wait->of || wait->for_thread ||
        task_wait_is_for_client(s, wait))
        return NULL;
    const struct shown_frame *inner = &stack[n - 1];
    size_t own = count_own(stack, n);
    if (!frame_is_asyncio(inner))
        return wait->for_future && own >= LEAST_OWN ? "" : NULL;
    if (str_starts(inner->name, "StreamReader."))
        return wait->of_clients ? NULL : "";
    return fact_in(inner->name, own, wait->apart);
}

/* ---- the tasks of a process ---- */

const struct profile_task_wait *task_most(const struct judgement *s,
                                          const struct thread_summary *loop, task_judge *judge)
{
    size_t n = 0;
    const struct profile_task_wait *best = NULL;
    const struct profile_task_wait *all = profile_task_waits(s->p, &n);
    for (size_t i = 0; i < n; i++)
        if (task_wait_is_of(&all[i], loop) && (!best || all[i].n > best->n) && judge(s, &all[i]))
            best = &all[i];
    return best;
}
