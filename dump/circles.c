#include "dump/circles.h"

#include <stdlib.h>

#include "arch/syscalls.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "dump/thread.h"
#include "summary/wait_side.h"
#include "target/mem.h"
#include "target/proc.h"
#include "waits/futex_lock.h"

enum { DEADLOCK_NS = NS_PER_S / 2, CONDITION_BYTES = 48 };

/* ---- is it still so? ---- */

/* Its run count, and the call that it is blocked in; false: it is in none, or cannot be read. */
static bool read_thread(const struct dump_thread *t, uint64_t *ret_runs,
                        struct syscall_state *ret_call)
{
    struct schedstat sched;
    if (proc_schedstat(t->pid, t->tid, &sched) < 0 || !sched.runs)
        return false;
    *ret_runs = sched.runs;
    return proc_syscall(t->pid, t->tid, ret_call) == 0 && ret_call->view == SYSCALL_BLOCKED;
}

static bool has_it_still(const struct dump_thread *t, const uint64_t args[6])
{
    struct err err = {0};
    struct mem *live = NULL;
    struct task_status holder;
    if (proc_status(t->side.blocker.pid, t->side.blocker.tid, &holder) < 0 ||
        mem_live_open(&live, t->pid, &err) < 0)
        return false;
    bool same = futex_lock_decode(args, live).owner == holder.ns_tid;
    mem_free(live);
    return same;
}

/* Does it wait for the same process as before, without having run since it was captured? */
static bool waits_for_same_process(const struct dump *d, const struct dump_thread *t)
{
    struct blocked_call call = t->call;
    struct wait_side side = {0};
    call.since_ns = clock_now_ns();
    waits_find_all(d->live_waits, &(struct asked_call){&call, &side}, 1);
    return side.thing == t->side.thing && blockers_are_same(&side.blocker, &t->side.blocker);
}

/* Does T wait for the same holder?  A thread waits for the GIL on one or the other word of a
 * condition variable, and the holder is another thread of the circle, which has not run. */
static bool waits_still(const struct dump *d, const struct dump_thread *t, uint64_t *ret_runs)
{
    struct syscall_state call;
    if (!read_thread(t, ret_runs, &call))
        return false;
    if (t->side.thing == THING_GIL) {
        const struct dump_thread *holder = dump_thread_of_state(d, t->pid, t->gil.holder);
        uint64_t apart =
            call.args[0] > t->args[0] ? call.args[0] - t->args[0] : t->args[0] - call.args[0];
        return holder && holder->gil.gil == PY_GIL_HOLDING && !holder->ran &&
               apart < CONDITION_BYTES;
    }
    if (wait_side_is_kernels(t->side.thing))
        return waits_for_same_process(d, t);
    if (call.args[0] != t->args[0])
        return false;
    /* Of Python's locks the one look has to do, while T has not run: it was made with the holder's
     * frames.  Thread.join() waits for a lock that the other thread has until it ends;
     * pthread_join() waits for its id. */
    if (t->side.thing == THING_PY_LOCK || t->side.thing == THING_ONCE)
        return (t->runs ? t->runs : t->settled.runs) == *ret_runs;
    struct task_status other;
    if (t->side.thing == THING_THREAD && call.args[2] == 0)
        return proc_status(t->side.blocker.pid, t->side.blocker.tid, &other) == 0;
    return has_it_still(t, call.args);
}

/* ---- circles ---- */

/* Whether all of CYCLE wait on.  RUNS, by item: their run counts, kept if FIRST, else compared. */
static bool circle_lasts(const struct dump *d, int cycle, uint64_t *runs, bool first)
{
    for (size_t i = 0; i < d->waits.n; i++) {
        const struct waiter *w = &d->waits.items[i];
        uint64_t now;
        if (w->cycle != cycle)
            continue;
        if (!waits_still(d, &d->threads[w->tag], &now))
            return false;
        if (!first && now != runs[i] && w->side.thing != THING_GIL)
            return false;
        runs[i] = now;
    }
    return true;
}

static bool has_gil(const struct dump *d, int cycle)
{
    for (size_t i = 0; i < d->waits.n; i++)
        if (d->waits.items[i].cycle == cycle && d->waits.items[i].side.thing == THING_GIL)
            return true;
    return false;
}

/* The threads were captured one after the other, so they may have waited for each other at
 * different moments.  Of two looks the first sees each wait of CYCLE begin, the second each go on:
 * all of them wait in between.  A thread that waits for the GIL wakes now and then, and on busy
 * CPUs it waits for one of them before it waits on: a look that finds it awake is repeated. */
static bool stands(const struct dump *d, int cycle, uint64_t *runs)
{
    enum { TRIES = 3, TRIES_WITH_GIL = 50 };
    bool gil = has_gil(d, cycle);
    for (int i = 0; i < (gil ? TRIES_WITH_GIL : TRIES); i++) {
        if (circle_lasts(d, cycle, runs, true) && circle_lasts(d, cycle, runs, false))
            return true;
        if (gil)
            clock_sleep(NS_PER_MS);
    }
    return false;
}

/* Has no thread of CYCLE run?  Who waits for the GIL runs now and then: its holder has not, and so
 * has not given it up. */
static bool has_rested(const struct dump *d, int cycle)
{
    for (size_t i = 0; i < d->waits.n; i++) {
        const struct dump_thread *t = &d->threads[i];
        if (d->waits.items[i].cycle == cycle && t->side.thing != THING_GIL &&
            (t->ran || !t->counted))
            return false;
    }
    return true;
}

void dump_circles_prove(struct dump *d)
{
    d->deadlocks = xcalloc((size_t)d->waits.n_cycles + 1, sizeof *d->deadlocks);
    uint64_t *runs = xcalloc(d->waits.n + 1, sizeof *runs);
    for (int cycle = d->waits.n_cycles; cycle > 0; cycle--)
        if (!stands(d, cycle, runs))
            wait_graph_drop(&d->waits, cycle);
    for (int cycle = 1; cycle <= d->waits.n_cycles; cycle++)
        d->deadlocks[cycle] = d->look_ns >= DEADLOCK_NS && has_rested(d, cycle) &&
                              !wait_graph_is_timed(&d->waits, cycle);
    free(runs);
}

/* ---- processes that are stuck ---- */

/* Can only a thread of its process end what thread I waits for? */
static bool waits_inside(const struct dump *d, size_t i)
{
    const struct dump_thread *t = &d->threads[i];
    const struct waiter *w = i < d->waits.n ? &d->waits.items[i] : NULL;
    return w && !w->cycle && !w->behind && t->side.inside && !t->side.timed &&
           t->state == THREAD_BLOCKED && t->side.blocker.kind != BLOCKER_GONE && t->counted &&
           !t->ran && !t->ended;
}

bool dump_is_stuck(const struct dump *d, size_t first)
{
    size_t end = dump_next_process(d, first);
    size_t i = first;
    while (i < end && waits_inside(d, i))
        i++;
    /* Of more threads than these another one may wake them. */
    return i == end && end - first == proc_thread_count(d->threads[first].pid);
}
