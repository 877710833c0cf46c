#include "sampler/claim.h"

#include <sys/syscall.h>

#include "arch/syscalls.h"
#include "base/clock.h"
#include "sampler/thread.h"
#include "sampler/tracer.h"

enum { WAKES_AT_ONCE_NS = 100 * NS_PER_US /* after its release, if a CPU is idle */ };

static bool is_off_cpu(enum thread_state state)
{
    return state == THREAD_BLOCKED || state == THREAD_STOPPED;
}

bool claim_holds(const struct claim *c, const struct schedstat *now)
{
    bool waits = c->state == THREAD_RUNNABLE && c->sched.run_ns == now->run_ns;
    return c->provable && (waits || is_off_cpu(c->state)) && c->sched.runs == now->runs;
}

bool claim_same_place(const struct wait_place *a, const struct wait_place *b)
{
    return a->syscall == b->syscall && a->sp == b->sp && a->pc == b->pc;
}

/* A time-out that goes on after a stop is restart_syscall(2) for the kernel: it keeps its
 * number. */
static int64_t call_number(const struct thread *t, int64_t number, uint64_t sp, uint64_t pc)
{
    const struct wait_place *before = &t->interrupted.place;
    bool restarted = number == SYS_restart_syscall && sp && sp == before->sp && pc == before->pc;
    return restarted ? before->syscall : number;
}

struct wait_place claim_place(const struct thread *t, const struct syscall_state *view)
{
    return (struct wait_place){call_number(t, view->number, view->sp, view->pc), view->sp,
                               view->pc};
}

/* ---- the last sample ---- */

void claim_sampled(struct thread *t, enum thread_state state, struct wait_place place,
                   bool provable)
{
    t->sampled = (struct claim){state, provable, place, t->sched};
}

/* The place stays that of the last wait: the worker may still ask for its registers. */
void claim_sampled_once(struct thread *t, enum thread_state state)
{
    t->sampled.state = state;
}

void claim_drop(struct thread *t)
{
    t->sampled.provable = false;
}

void claim_drop_all(struct thread *t)
{
    claim_drop(t);
    t->interrupted.provable = false;
}

void claim_extend(struct thread *t, int64_t now_ns, uint32_t ticks)
{
    t->until_ns = now_ns;
    t->repeats += ticks;
}

void claim_emitted(struct thread *t, int64_t now_ns)
{
    t->until_ns = now_ns;
    t->repeats = 0;
}

/* ---- the request to stop ---- */

void claim_found(struct thread *t, enum thread_state state)
{
    t->asked = (struct claim){.state = state};
}

void claim_found_blocked(struct thread *t, struct wait_place place, bool provable)
{
    t->asked = (struct claim){THREAD_BLOCKED, provable, place, {0}};
}

void claim_asked(struct thread *t, int64_t now_ns)
{
    t->asked.sched = t->sched;
    t->own_switches_asked = t->own_switches;
    t->asked_ns = t->found_asked_ns = now_ns;
    t->asked_ticks = 0;
}

void claim_asked_in_fault(struct thread *t, struct wait_place place, bool provable, int64_t now_ns)
{
    bool known = t->asked.state == THREAD_BLOCKED && claim_same_place(&t->asked.place, &place);
    t->asked.sched = t->sched;
    t->own_switches_asked = t->own_switches;
    if (known)
        return;
    claim_found_blocked(t, place, provable);
    claim_asked(t, now_ns);
}

void claim_still_asked(struct thread *t, int64_t now_ns)
{
    t->found_asked_ns = now_ns;
    t->asked_ticks++;
}

void claim_asked_until(struct thread *t, int64_t now_ns)
{
    claim_extend(t, now_ns, t->asked_ticks + 1);
    claim_asked(t, now_ns);
}

/* ---- the stop: T may have gone on between its visit and the stop ---- */

/* T was found off the CPU, and stopped elsewhere. */
static bool went_on(const struct thread *t, const struct regs *regs)
{
    return t->asked.state == THREAD_BLOCKED &&
           (regs->r[REG_SP] != t->asked.place.sp || regs->r[REG_PC] != t->asked.place.pc);
}

int64_t claim_stop_number(const struct thread *t, const struct stop *stop)
{
    return call_number(t, stop->syscall, stop->regs.r[REG_SP], stop->regs.r[REG_PC]);
}

/* T was found running, or waiting for a CPU, and the stop broke off a call that waits.  A request
 * that was pending for ticks never found T off the CPU.  Where T waited for a CPU behind a time-out
 * that is over, the call restarts, too. */
static bool has_fallen_asleep(const struct thread *t, const struct stop *stop)
{
    bool waits = stop->repaired || syscall_restarts_cleanly(stop->syscall);
    bool was_woken =
        t->asked.state == THREAD_RUNNABLE && syscall_restarts_late(claim_stop_number(t, stop));
    return t->asked.state != THREAD_BLOCKED && stop->restarting && waits && !was_woken &&
           !stop->job_stopped && !t->asked_ticks;
}

/* A stop puts a blocked thread on a CPU twice: to stop, and to go back into its call, or to be
 * stopped by SIGSTOP again. */
static void note_interrupted(struct thread *t, const struct stop *stop)
{
    enum { RUNS_OF_A_STOP = 2 };
    if (!stop->restarting && !stop->job_stopped)
        return;
    struct wait_place place = {stop->syscall < 0 ? -1 : claim_stop_number(t, stop),
                               stop->regs.r[REG_SP], stop->regs.r[REG_PC]};
    bool provable = t->asked.state == THREAD_BLOCKED;
    enum thread_state state = stop->job_stopped ? THREAD_STOPPED : THREAD_BLOCKED;
    t->interrupted =
        (struct claim){state, provable, place, {.runs = t->asked.sched.runs + RUNS_OF_A_STOP}};
}

bool claim_judge(struct thread *t, const struct stop *stop)
{
    bool asleep = has_fallen_asleep(t, stop);
    if (went_on(t, &stop->regs))
        t->asked.state = THREAD_RUNNING;
    else if (asleep)
        t->asked.state = THREAD_BLOCKED;
    note_interrupted(t, stop);
    return asleep;
}

/* Did T wait for a CPU for most of the time from the request to the stop? */
static bool has_waited(const struct thread *t, const struct snapshot *snapshot,
                       const struct schedstat *now)
{
    int64_t took_ns = snapshot->taken_ns - t->asked_ns;
    int64_t waited_ns = (int64_t)(now->wait_ns - t->asked.sched.wait_ns);
    return waited_ns > WAKES_AT_ONCE_NS && 2 * waited_ns >= took_ns;
}

/* T has left its CPU since the request, or has got one again since its release.  At the end of a
 * call that waits T had just been woken; elsewhere it waited for a CPU if the kernel counted so. */
static enum thread_state running_or_waited(const struct thread *t, const struct snapshot *snapshot,
                                           const struct schedstat *now)
{
    bool woken = syscall_mostly_sleeps(snapshot->syscall);
    return woken || has_waited(t, snapshot, now) ? THREAD_RUNNABLE : THREAD_RUNNING;
}

/* T is in a call that restarts.  It slept there when it was asked, or its time-out was over and it
 * waited for a CPU. */
static enum thread_state asleep_or_woken(const struct thread *t, const struct snapshot *snapshot,
                                         const struct schedstat *now)
{
    bool woken = syscall_restarts_late(snapshot->syscall) && has_waited(t, snapshot, now);
    return woken ? THREAD_RUNNABLE : THREAD_BLOCKED;
}

/* T's state for most of the several ticks since the request.  If it neither ran nor waited for a
 * CPU, it was in an uninterruptible wait. */
static enum thread_state state_while_asked(const struct thread *t, const struct snapshot *snapshot,
                                           const struct schedstat *now)
{
    int64_t took_ns = snapshot->taken_ns - t->asked_ns;
    if (2 * (int64_t)(now->wait_ns - t->asked.sched.wait_ns) >= took_ns)
        return THREAD_RUNNABLE;
    bool ran = 2 * (int64_t)(now->run_ns - t->asked.sched.run_ns) >= took_ns;
    return ran ? THREAD_RUNNING : THREAD_BLOCKED;
}

enum thread_state claim_settle(const struct thread *t, const struct snapshot *snapshot,
                               const struct schedstat *now, bool fell_asleep)
{
    bool could_run = snapshot->state == THREAD_RUNNING || snapshot->state == THREAD_RUNNABLE ||
                     snapshot->state == THREAD_RUNNING_OR_RUNNABLE;
    if (could_run && t->asked_ticks)
        return state_while_asked(t, snapshot, now);
    if (!fell_asleep && snapshot->state != THREAD_RUNNING_OR_RUNNABLE)
        return snapshot->state;
    if (now->runs == t->asked.sched.runs)
        return THREAD_RUNNING;
    return fell_asleep ? asleep_or_woken(t, snapshot, now) : running_or_waited(t, snapshot, now);
}

void claim_stopped(struct thread *t, enum thread_state state, int64_t stopped_ns,
                   int64_t interval_ns)
{
    /* T waited for a CPU at every tick until it stopped. */
    bool waited = t->asked_ticks || stopped_ns - t->asked_ns > interval_ns;
    t->asked.state = state;
    t->interrupted.provable &= is_off_cpu(state);
    claim_sampled_once(t, state);
    t->until_ns = waited ? stopped_ns : t->asked_ns;
    /* Or it ran on in a call that is over now.  Each tick that found it there stands for an
     * interval, as everywhere: with the end as a bound, whose start is not known, calls of little
     * more than an interval would get too little. */
    if (t->left_call)
        t->until_ns = t->found_asked_ns;
    t->repeats = t->asked_ticks;
}

bool claim_is_back(const struct thread *t, const struct syscall_state *view)
{
    struct wait_place place = claim_place(t, view);
    return view->view == SYSCALL_BLOCKED && claim_holds(&t->interrupted, &t->sched) &&
           claim_same_place(&place, &t->interrupted.place);
}

void claim_back(struct thread *t)
{
    t->sampled = t->interrupted;
}
