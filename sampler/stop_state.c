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
    int64_t waited_ns = (int64_t)(now->wait_ns - t->requested_sched.wait_ns);
    bool waited = waited_ns > WAKES_AT_ONCE_NS && 2 * waited_ns >= took_ns;
    return waited || syscall_mostly_sleeps(snapshot->syscall) ? THREAD_RUNNABLE : THREAD_RUNNING;
}

/* The same where several ticks have passed: what it did for most of the time since the request.  What is neither was in
 * an uninterruptible wait. */
static enum thread_state state_while_pending(const struct task *t, const struct snapshot *snapshot,
                                             const struct schedstat *now)
{
    int64_t took_ns = snapshot->taken_ns - t->requested_ns;
    if (2 * (int64_t)(now->wait_ns - t->requested_sched.wait_ns) >= took_ns)
        return THREAD_RUNNABLE;
    bool ran = 2 * (int64_t)(now->run_ns - t->requested_sched.run_ns) >= took_ns;
    return ran ? THREAD_RUNNING : THREAD_BLOCKED;
}

enum thread_state stop_state_settle(const struct task *t, const struct snapshot *snapshot,
                                    const struct schedstat *now, bool fell_asleep)
{
    bool could_run = snapshot->state == THREAD_RUNNING || snapshot->state == THREAD_RUNNABLE ||
                     snapshot->state == THREAD_RUNNING_OR_RUNNABLE;
    if (could_run && t->pending_repeats)
        return state_while_pending(t, snapshot, now);
    if (!fell_asleep && snapshot->state != THREAD_RUNNING_OR_RUNNABLE)
        return snapshot->state;
    if (now->runs == t->requested_sched.runs)
        return THREAD_RUNNING;
    return fell_asleep ? THREAD_BLOCKED : running_or_waited(t, snapshot, now);
}
