#include "sampler/stop_state.h"

#include "base/clock.h"
#include "target/syscalls.h"

enum { WAKES_AT_ONCE_NS = 100 * NS_PER_US /* after its release, where a CPU is idle */ };

/* It was off the CPU when it was looked at. */
static bool went_on(const struct task *t, const struct regs *regs)
{
    return t->requested_state == THREAD_BLOCKED &&
           (regs->r[X86_RSP] != t->requested_at.sp || regs->r[X86_PC] != t->requested_at.pc);
}

/* It was running, or waiting for a CPU, when it was looked at, and the stop broke off a call that waits.  A request that
 * was pending for ticks found it awake at each. */
static bool fell_asleep(const struct task *t, const struct stop *stop)
{
    bool waits = stop->repaired || syscall_restarts_cleanly(stop->syscall);
    return t->requested_state != THREAD_BLOCKED && stop->restarting && waits &&
           !stop->job_stopped && !t->pending_repeats;
}

bool stop_state_judge(struct task *t, const struct stop *stop)
{
    bool asleep = fell_asleep(t, stop);
    if (went_on(t, &stop->regs))
        t->requested_state = THREAD_RUNNING;
    else if (asleep)
        t->requested_state = THREAD_BLOCKED;
    return asleep;
}

/* Of a thread that has left its CPU since the request, or was let onto one again after its release.  At the end of a call
 * that waits it had just been woken; elsewhere it waited for a CPU if the kernel counted so. */
static enum thread_state running_or_waited(const struct task *t, const struct snapshot *snapshot,
                                           const struct schedstat *now)
{
    int64_t took_ns = snapshot->taken_ns - t->requested_ns;
    int64_t waited_ns = (int64_t)(now->wait_ns - t->sched.wait_ns);
    bool waited = waited_ns > WAKES_AT_ONCE_NS && 2 * waited_ns >= took_ns;
    bool woken = !t->pending_repeats && syscall_mostly_sleeps(snapshot->syscall);
    return waited || woken ? THREAD_RUNNABLE : THREAD_RUNNING;
}

enum thread_state stop_state_settle(const struct task *t, const struct snapshot *snapshot,
                                    const struct schedstat *now, bool fell_asleep)
{
    bool open = fell_asleep || snapshot->state == THREAD_RUNNING_OR_RUNNABLE ||
                (t->pending_repeats && snapshot->state == THREAD_RUNNING);
    if (!open)
        return snapshot->state;
    if (now->runs == t->requested_runs)
        return THREAD_RUNNING;
    return fell_asleep ? THREAD_BLOCKED : running_or_waited(t, snapshot, now);
}
