#include "sampler/stop_requests.h"

#include <errno.h>

#include "arch/syscalls.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "sampler/capture.h"
#include "sampler/overhead.h"
#include "sampler/seccomp.h"
#include "sampler/space_lock.h"
#include "sampler/state.h"
#include "sampler/thread_files.h"

enum {
    POLL_NS = 20 * NS_PER_US,  /* a thread that runs stops within 8.5 µs, p90 13 µs */
    FREEZE_NS = 5 * NS_PER_MS, /* --freeze: all let go after that, whether complete or not */
    MAX_BACKOFF_NS = NS_PER_S, /* the progress rule's longest gap */
    WAIT_FOR_LOCK_NS = 500 * NS_PER_MS,
    SIGNAL_CALM_NS = 2 * NS_PER_S, /* without a signal in a hold: these were chance */
    RECENT_TICKS = 3,              /* who has not run for so long will hardly run just now */
    LATEST_NS = 300 * NS_PER_US,   /* from a visit to the request, where CPUs are short */
    NOT_IN_KERNEL = -2,            /* as a stop's system call */
};

/* ---- the tracer's handler ---- */

/* Some calls are undone or cut short by every interruption: T is left alone longer each time. */
static void back_off(const struct sampler *s, struct thread *t, const struct stop *stop)
{
    bool undone = stop->renewed || (stop->restarting && !syscall_only_waits(stop->syscall));
    uint32_t most = (uint32_t)(MAX_BACKOFF_NS / s->interval_ns);
    if (!undone && !stop->cut) {
        t->backoff = 0;
        return;
    }
    t->backoff = t->backoff ? t->backoff * 2 : 2;
    if (t->backoff > most)
        t->backoff = most;
    int64_t until_ns = stop->stopped_ns + t->backoff * s->interval_ns;
    if (t->asked.state == THREAD_BLOCKED) /* only this call is left alone, not what follows it */
        t->call_not_before_ns = until_ns;
    else
        t->stop_not_before_ns = until_ns;
}

bool stop_requests_stopped(void *sampler, const struct stop *stop)
{
    struct sampler *s = sampler;
    struct thread *t = (struct thread *)(uintptr_t)stop->tag;
    s->held_thread = t;
    counters_add(&s->counters, COUNT_REPAIRED_CALLS, stop->repaired);
    counters_add(&s->counters, COUNT_PERTURBED_CALLS, stop->perturbed);
    counters_add(&s->counters, COUNT_CUT_CALLS, stop->cut);
    if (!t || t->ended || t->filtered)
        return true;
    seccomp_note_stop(s, t, stop);
    t->stopped_in_call = stop->syscall != NOT_IN_KERNEL;
    t->left_call = t->stopped_in_call && !stop->restarting;
    /* To stop, and to go to sleep again. */
    t->own_switches += stop->restarting || stop->job_stopped ? 2 : 1;
    capture_held(s, t, stop);
    if (stop_requests_freeze(s)) /* others are captured before T is let go */
        capture_released(s, t, NULL);
    counters_add(&s->counters, COUNT_REFUSED, !stop->registers_ok);
    if (stop->repaired)
        counters_raise(&s->counters, COUNT_REPAIR_MAX_NS,
                       (uint64_t)(stop->stopped_ns - t->asked_ns));
    /* The few captures of a shot cannot wait. */
    if (!s->shooting)
        back_off(s, t, stop);
    if (!stop_requests_freeze(s))
        return true;
    if (!s->freeze_end_ns)
        s->freeze_end_ns = stop->stopped_ns + FREEZE_NS;
    return stop->stopped_ns >= s->freeze_end_ns;
}

/* To read them takes some 10 us, twice a stop: of a thread that took none at QUIET stops in a row
 * only a look at every one of as many is worth that. */
enum { QUIET = 4 };

static void read_faults_behind(struct thread *t, int64_t held_ns)
{
    if (t->faults_quiet < QUIET || t->faults_quiet % QUIET == 0) {
        bool known = thread_read_faults(t, &t->faults_after);
        t->faults_known = t->faults_known && known;
        t->faults_read_ns = clock_now_ns();
        t->faults_held_ns = held_ns;
        bool new_ones = known && t->faults_after != t->faults_last;
        t->faults_last = known ? t->faults_after : t->faults_last;
        t->faults_quiet = new_ones ? 0 : t->faults_quiet + 1;
    } else {
        t->faults_quiet++;
    }
}

/* Another thread is woken for the signal, and its call may return EINTR.  No stop of that thread
 * could repair it.  So T, whose holds signals meet, is stopped less often: once a second. */
static void note_signal(struct sampler *s, struct thread *t)
{
    int64_t now_ns = clock_now_ns();
    bool again = now_ns - t->signal_not_before_ns < SIGNAL_CALM_NS;
    int64_t wait_ns = again ? t->signal_wait_ns * 2 : s->interval_ns * 2;
    t->signal_wait_ns = min_i64(max_i64(wait_ns, s->interval_ns * 2), MAX_BACKOFF_NS);
    t->signal_not_before_ns = now_ns + t->signal_wait_ns;
    counters_add(&s->counters, COUNT_SIGNALS_IN_HOLDS, 1);
}

void stop_requests_released(void *sampler, uint64_t tag, const struct hold *hold)
{
    struct sampler *s = sampler;
    struct thread *t = (struct thread *)(uintptr_t)tag;
    if (!t) {
        counters_add_hold(&s->counters, hold->ns);
        return;
    }
    /* First of all: T goes on.  The counts before the faults, because T may soon have a CPU. */
    struct schedstat now;
    int fd = t->fds[FILE_SCHEDSTAT];
    int r = fd >= 0 ? schedstat_read(fd, &now) : -EBADF;
    int64_t now_ns = clock_now_ns();
    read_faults_behind(t, hold->ns);
    if (hold->signalled && t->process->n_threads > 1)
        note_signal(s, t);
    if (r == -ESRCH) /* T is gone: another thread, which has its tid now, stopped */
        s->held = (struct held_capture){0};
    bool counted = r == 0 && s->can.schedstat;
    bool at_once = t->wait_asked && overhead_heard_at_once(s, hold);
    uint32_t held_ns = counted ? overhead_held_ns(t, &now, now_ns, hold, at_once) : hold->ns;
    counters_add_hold(&s->counters, held_ns);
    capture_released(s, t, r == 0 ? &now : NULL);
    overhead_add(t, held_ns);
    waiters_stopped(s, t);
    t->pending = false;
}

void stop_requests_gone(void *sampler, uint64_t tag)
{
    struct sampler *s = sampler;
    struct thread *t = (struct thread *)(uintptr_t)tag;
    if (!t)
        return;
    capture_released(s, t, NULL); /* for one that was killed while it was held */
    waiters_stopped(s, t);
    t->pending = false;
}

/* ---- requests ---- */

/* An execve hangs in T's process: T is not asked to stop, and its registers stay wanted. */
static void skip_for_exec(struct sampler *s, const struct thread *t)
{
    counters_add(&s->counters, COUNT_EXECVE_WAITS, 1);
    if (t->asked.state == THREAD_BLOCKED)
        feedback_want_registers(&s->feedback, t->id, t->sched.runs);
}

bool stop_requests_wait_for_exec(const struct sampler *s, const struct thread *t)
{
    return t->process->no_stops_before_ns > s->tick_ns;
}

/* T cannot be stopped: reads it without a stop, if it is off the CPU. */
static bool read_instead(struct sampler *s, struct thread *t)
{
    struct syscall_state view;
    return t->asked.state == THREAD_BLOCKED && thread_read_syscall(s, t, &view) == 0 &&
           view.view == SYSCALL_BLOCKED && capture_off_cpu(s, t, &view) == 0;
}

static void refused(struct sampler *s, struct thread *t, int64_t now_ns)
{
    if (thread_read_stat(s, t) == 0) /* it was about to end, or is gone */
        return;
    counters_add(&s->counters, COUNT_REFUSED, 1);
    if (read_instead(s, t))
        return;
    claim_sampled_once(t, t->asked.state);
    capture_emit(s, t, MESSAGE_SAMPLE, SAMPLE_NO_STACK | SAMPLE_TRACED, now_ns);
}

/* No thread of T's process can be asked now. */
static void not_asked(struct sampler *s, struct thread *t, int64_t now_ns)
{
    skip_for_exec(s, t);
    t->process->no_stops_before_ns = now_ns + MAX_BACKOFF_NS;
    if (!read_instead(s, t))
        capture_emit(s, t, MESSAGE_SAMPLE, SAMPLE_NO_STACK, now_ns);
}

/* A main thread refuses once if another's execve took its place while the sampler waited for it. */
static int ask(struct sampler *s, struct thread *t)
{
    int r = -EPERM;
    bool renew = seccomp_wants_renewal(s, t);
    for (int i = 0; i < 2 && r == -EPERM; i++)
        r = tracer_request(s->tracer, t->process->pid, t->tid, (uint64_t)(uintptr_t)t, renew);
    return r;
}

/* In a page fault T stops when its page is there, not before. */
static bool in_fault(const struct thread *t)
{
    return t->asked.state == THREAD_BLOCKED && t->asked.place.syscall < 0;
}

static void request_stop(struct sampler *s, struct thread *t)
{
    seccomp_note_release(s, t);
    bool signals = !s->shooting && clock_now_ns() < t->signal_not_before_ns;
    if (s->config.no_stop || t->supervised || signals) {
        counters_add(&s->counters, COUNT_SUPERVISED, t->supervised);
        counters_add(&s->counters, COUNT_SIGNALS_AVOIDED, signals);
        capture_not_held(s, t, clock_now_ns());
        return;
    }
    capture_prepare(s, t);
    uint64_t runs = t->sched.runs;
    /* A thread that waited for a CPU may have got the CPU of a held one by now, and counts as
     * waiting all the same.  If another has moved since its visit, the stop shows what it does
     * now. */
    bool gone = false; /* its tid may be another process's */
    if (t->asked.state != THREAD_RUNNABLE) {
        gone = thread_read_schedstat(s, t, &t->sched) == -ESRCH;
        if (t->sched.runs != runs)
            claim_found(t, THREAD_RUNNING_OR_RUNNABLE);
    }
    t->faults_known = t->faults_quiet < QUIET && thread_read_faults(t, &t->faults_before);
    claim_asked(t, clock_now_ns());
    t->pending = true;
    if (t->asked.state == THREAD_RUNNABLE)
        waiters_asked(s, t);
    counters_add(&s->counters, COUNT_STOP_REQUESTS, 1);
    int r = gone ? -ESRCH : ask(s, t);
    if (r < 0)
        waiters_stopped(s, t);
    t->pending = t->pending && r == 0;
    if (r == -ETIMEDOUT)
        not_asked(s, t, clock_now_ns());
    else if (r < 0)
        refused(s, t, t->asked_ns);
    if (r < 0 || stop_requests_freeze(s) || t->asked.state == THREAD_RUNNABLE || t->displaced ||
        in_fault(t))
        return;
    t->slow_to_stop = !tracer_poll(s->tracer, t->tid, POLL_NS);
    seccomp_note_release(s, t);
}

void stop_requests_forget(struct sampler *s, struct thread *t)
{
    if (t->pending)
        tracer_forget(s->tracer, t->tid);
    waiters_stopped(s, t);
    t->pending = false;
}

bool stop_requests_freeze(const struct sampler *s)
{
    return s->shooting && s->config.freeze;
}

bool stop_requests_release_frozen(struct sampler *s)
{
    if (!s->freeze_end_ns || clock_now_ns() < s->freeze_end_ns)
        return false;
    tracer_release_held(s->tracer);
    return true;
}

void stop_requests_queue(struct sampler *s, struct thread *t, int64_t now_ns)
{
    if (now_ns < t->stop_not_before_ns) {
        counters_add(&s->counters, COUNT_BACKED_OFF, 1);
        return;
    }
    if (!s->n_queued)
        s->queued_ns = now_ns;
    s->queued = array_reserve(s->queued, &s->queued_capacity, s->n_queued + 1, sizeof *s->queued);
    s->queued[s->n_queued++] = t;
}

/* Is the queued thread the only one of its process that has run of late?  Then nobody else locks
 * the memory, and if this thread does, it stops when that is over. */
static bool runs_alone(const struct sampler *s)
{
    const struct thread *t = s->n_queued == 1 ? s->queued[0] : NULL;
    if (!t || t->asked.state == THREAD_BLOCKED || s->shooting)
        return false;
    const struct dormant *d = &t->process->dormant;
    for (size_t i = 0; i < d->n_visited; i++)
        if (d->visited[i] != t && d->tick - d->visited[i]->moved_tick < RECENT_TICKS)
            return false;
    return true;
}

/* No thread of a locked process is asked in this tick; the registers of blocked ones stay wanted.
 * A single shot has no other tick, and waits for a while. */
static bool skip_locked(struct sampler *s)
{
    if (runs_alone(s))
        return false;
    struct process *p = s->n_queued && !s->config.no_stop ? s->queued[0]->process : NULL;
    int64_t end_ns = clock_now_ns() + WAIT_FOR_LOCK_NS;
    while (p && s->shooting && space_is_locked(s, p) && clock_now_ns() < end_ns)
        p->locked_ns = p->lock_checked_ns = 0;
    if (!p || !space_is_locked(s, p))
        return false;
    for (size_t i = 0; i < s->n_queued; i++)
        if (s->queued[i]->asked.state == THREAD_BLOCKED)
            feedback_want_registers(&s->feedback, s->queued[i]->id, s->queued[i]->sched.runs);
    counters_add(&s->counters, COUNT_MEMORY_LOCKED, s->n_queued);
    s->n_queued = 0;
    return true;
}

/* Threads on a CPU come first, with the one whose state is unknown: they stop at once, and are let
 * go before the next is asked. */
void stop_requests_send(struct sampler *s)
{
    if (skip_locked(s))
        return;
    for (int waiting = 0; waiting < 2; waiting++)
        for (size_t i = 0; i < s->n_queued; i++) {
            struct thread *t = s->queued[i];
            if (!t || (t->asked.state == THREAD_RUNNABLE) != (waiting == 1) ||
                stop_requests_release_frozen(s))
                continue;
            s->queued[i] = NULL;
            if (stop_requests_wait_for_exec(s, t))
                skip_for_exec(s, t);
            else
                request_stop(s, t);
            tracer_reap(s->tracer);
        }
    s->n_queued = 0;
}

/* Asks at once, because a thread's state may change.  But a thread that waits gets the CPU of one
 * that is held, and would be seen to run: where threads wait, some are visited before the first is
 * asked. */
void stop_requests_send_if_due(struct sampler *s)
{
    int64_t latest_ns = s->waiting || s->waiting_before ? LATEST_NS : 0;
    if (s->n_queued && !stop_requests_freeze(s) && clock_now_ns() - s->queued_ns >= latest_ns)
        stop_requests_send(s);
}
