#include "sampler/stops.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sampler/capture.h"
#include "sampler/filters.h"
#include "sampler/look.h"
#include "sampler/space_lock.h"
#include "sampler/state.h"
#include "target/syscalls.h"

enum {
    POLL_NS = 20 * NS_PER_US,  /* a thread that runs stops within 8.5 µs, p90 13 µs */
    FREEZE_NS = 5 * NS_PER_MS, /* --freeze: all let go after that, whether complete or not */
    MAX_BACKOFF_NS = NS_PER_S, /* the progress rule's longest gap */
    WAIT_FOR_LOCK_NS = 500 * NS_PER_MS,
    LATEST_NS =
        300 * NS_PER_US, /* from the look at a thread to the request, where CPUs are short */
};

/* ---- the tracer's handler ---- */

/* Some calls are undone, or cut short, at every interruption: leaves T alone longer each time. */
static void space_out(const struct sampler *s, struct task *t, const struct stop *stop)
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
    if (t->requested_state == THREAD_BLOCKED) /* what comes after the call may be stopped */
        t->call_not_before_ns = until_ns;
    else
        t->stop_not_before_ns = until_ns;
}

bool stops_stopped(void *sampler, const struct stop *stop)
{
    struct sampler *s = sampler;
    struct task *t = (struct task *)(uintptr_t)stop->tag;
    counters_add(&s->counters, COUNT_REPAIRED_CALLS, stop->repaired);
    counters_add(&s->counters, COUNT_PERTURBED_CALLS, stop->perturbed);
    counters_add(&s->counters, COUNT_CUT_CALLS, stop->cut);
    if (!t || t->ended || t->filtered)
        return true;
    filters_note(s, t, stop);
    capture_held(s, t, stop);
    if (s->config.freeze) /* others are captured before this one is let go */
        capture_released(s, t, NULL);
    counters_add(&s->counters, COUNT_REFUSED, !stop->registers_ok);
    if (stop->repaired)
        counters_raise(&s->counters, COUNT_REPAIR_MAX_NS,
                       (uint64_t)(stop->stopped_ns - t->requested_ns));
    /* The few captures of a single shot cannot wait. */
    if (!s->config.single_shot)
        space_out(s, t, stop);
    if (!s->config.freeze)
        return true;
    if (!s->freeze_end_ns)
        s->freeze_end_ns = stop->stopped_ns + FREEZE_NS;
    return stop->stopped_ns >= s->freeze_end_ns;
}

void stops_released(void *sampler, uint64_t tag, uint32_t held_ns)
{
    struct sampler *s = sampler;
    struct task *t = (struct task *)(uintptr_t)tag;
    counters_add_hold(&s->counters, held_ns);
    if (!t)
        return;
    struct schedstat now;
    int fd = t->fds[TASK_SCHEDSTAT];
    int r = fd >= 0 ? schedstat_read(fd, &now) : -EBADF;
    if (r == -ESRCH) /* it was asked by its tid, which is another's by now: its own files tell */
        s->held = (struct held_capture){0};
    if (r == 0 && s->can.schedstat)
        held_ns = overhead_lost_ns(t, &now, held_ns);
    capture_released(s, t, r == 0 ? &now : NULL);
    t->held_ns += held_ns;
    overhead_add(t, held_ns);
    t->pending = false;
}

void stops_gone(void *sampler, uint64_t tag)
{
    struct sampler *s = sampler;
    struct task *t = (struct task *)(uintptr_t)tag;
    if (!t)
        return;
    capture_released(s, t, NULL); /* it was killed while it was held */
    t->pending = false;
}

/* ---- requests ---- */

/* T is not asked to stop, since an execve in its process hangs.  What it was to be stopped for is wanted still. */
static void leave_out(struct sampler *s, const struct task *t)
{
    counters_add(&s->counters, COUNT_EXECVE_WAITS, 1);
    if (t->requested_state == THREAD_BLOCKED)
        feedback_want_registers(&s->feedback, t->id, t->sched.runs);
}

bool stops_wait_for_execve(const struct sampler *s, const struct task *t)
{
    return t->process->ask_not_before_ns > s->tick_ns;
}

/* T is not to be stopped.  If it was off the CPU it is read without, as others are. */
static bool read_instead(struct sampler *s, struct task *t)
{
    struct syscall_state view;
    return t->requested_state == THREAD_BLOCKED && look_view(s, t, &view) == 0 &&
           view.view == SYSCALL_BLOCKED && capture_off_cpu(s, t, &view) == 0;
}

static void refused(struct sampler *s, struct task *t, int64_t now_ns)
{
    if (threads_look_at(s, t) == 0) /* it was about to end, or is gone */
        return;
    counters_add(&s->counters, COUNT_REFUSED, 1);
    if (read_instead(s, t))
        return;
    t->state = t->requested_state;
    capture_tell(s, t, MESSAGE_SAMPLE, SAMPLE_NO_STACK | SAMPLE_TRACED, now_ns);
}

/* Nobody of T's process can be asked now. */
static void not_asked(struct sampler *s, struct task *t, int64_t now_ns)
{
    leave_out(s, t);
    t->process->ask_not_before_ns = now_ns + MAX_BACKOFF_NS;
    if (!read_instead(s, t))
        capture_tell(s, t, MESSAGE_SAMPLE, SAMPLE_NO_STACK, now_ns);
}

/* A main thread that was waited for in vain, as another's execve took its place, refuses once. */
static int ask(struct sampler *s, struct task *t)
{
    int r = -EPERM;
    bool renew = filters_want_renewal(s, t);
    for (int i = 0; i < 2 && r == -EPERM; i++)
        r = tracer_request(s->tracer, t->process->pid, t->tid, (uint64_t)(uintptr_t)t, renew);
    return r;
}

/* It stops when its page is there, not before. */
static bool in_fault(const struct task *t)
{
    return t->requested_state == THREAD_BLOCKED && t->requested_at.syscall < 0;
}

static void request_stop(struct sampler *s, struct task *t)
{
    filters_settle(s, t);
    if (s->config.no_stop || t->supervised) {
        counters_add(&s->counters, COUNT_SUPERVISED, t->supervised);
        capture_not_held(s, t, clock_now_ns());
        return;
    }
    capture_prepare(s, t);
    uint64_t runs = t->sched.runs;
    /* Who waited may have got the CPU of one that is held.  Of the others the stop tells what they do now. */
    if (t->requested_state != THREAD_RUNNABLE) {
        (void)look_counts(s, t, &t->sched);
        if (t->sched.runs != runs)
            t->requested_state = THREAD_RUNNING_OR_RUNNABLE;
    }
    t->requested_ns = clock_now_ns();
    t->requested_sched = t->sched;
    t->pending_repeats = 0;
    t->pending = true;
    counters_add(&s->counters, COUNT_STOP_REQUESTS, 1);
    int r = ask(s, t);
    t->pending = t->pending && r == 0;
    if (r == -ETIMEDOUT)
        not_asked(s, t, clock_now_ns());
    else if (r < 0)
        refused(s, t, t->requested_ns);
    if (r < 0 || s->config.freeze || t->requested_state == THREAD_RUNNABLE || in_fault(t))
        return;
    t->slow_to_stop = !tracer_poll(s->tracer, t->tid, POLL_NS);
    filters_settle(s, t);
}

bool stops_thaw(struct sampler *s)
{
    if (!s->freeze_end_ns || clock_now_ns() < s->freeze_end_ns)
        return false;
    tracer_release_held(s->tracer);
    return true;
}

void stops_queue(struct sampler *s, struct task *t, int64_t now_ns)
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

/* Where the process is locked none of its threads is asked in this tick.  The registers of blocked
 * ones stay wanted.  The few captures of a single shot are worth waiting for. */
static bool leave_out_locked(struct sampler *s)
{
    struct process *p = s->n_queued && !s->config.no_stop ? s->queued[0]->process : NULL;
    int64_t end_ns = clock_now_ns() + WAIT_FOR_LOCK_NS;
    while (p && s->config.single_shot && space_is_locked(s, p) && clock_now_ns() < end_ns)
        p->locked_ns = p->lock_looked_ns = 0;
    if (!p || !space_is_locked(s, p))
        return false;
    for (size_t i = 0; i < s->n_queued; i++)
        if (s->queued[i]->requested_state == THREAD_BLOCKED)
            feedback_want_registers(&s->feedback, s->queued[i]->id, s->queued[i]->sched.runs);
    counters_add(&s->counters, COUNT_MEMORY_LOCKED, s->n_queued);
    s->n_queued = 0;
    return true;
}

/* Those on a CPU first (also the one of which that is not known yet): they stop at once and can be let go before the next is asked. */
void stops_ask(struct sampler *s)
{
    if (leave_out_locked(s))
        return;
    for (int waiting = 0; waiting < 2; waiting++)
        for (size_t i = 0; i < s->n_queued; i++) {
            struct task *t = s->queued[i];
            if (!t || (t->requested_state == THREAD_RUNNABLE) != (waiting == 1) || stops_thaw(s))
                continue;
            s->queued[i] = NULL;
            if (stops_wait_for_execve(s, t))
                leave_out(s, t);
            else
                request_stop(s, t);
            tracer_reap(s->tracer);
        }
    s->n_queued = 0;
}

/* At once: later it may do something else, which would be told with what it was found to do.  But the CPU of one that is
 * held another gets that waited, and would be seen to run: where some wait, those next to each other are looked at first. */
void stops_ask_in_time(struct sampler *s)
{
    int64_t latest_ns = s->waiting || s->waiting_before ? LATEST_NS : 0;
    if (s->n_queued && !s->config.freeze && clock_now_ns() - s->queued_ns >= latest_ns)
        stops_ask(s);
}
