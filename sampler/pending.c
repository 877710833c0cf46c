#include "sampler/pending.h"

#include <errno.h>

#include "base/clock.h"
#include "sampler/capture.h"
#include "sampler/look.h"
#include "sampler/state.h"

enum {
    STUCK_NS = 250 * NS_PER_MS /* stops are seen within some ms, late ones once a CPU was had */
};

/* A stop that waitpid(2) does not tell of, or a PTRACE_DETACH that fails, should not be.  But the thread
 * would stay stopped for as long as we go on; the end of the thread that traces it lets it go. */
static bool is_stuck(struct sampler *s, struct task *t)
{
    char state = threads_state(t);
    tracer_reap(s->tracer);                           /* it may have stopped a moment ago */
    if (t->pending && (state == 'Z' || state == 'X')) /* nor of its end */
        threads_zombie(s, t);
    return t->pending && state == 't';
}

/* Has T been where it was ever since it was asked to stop, in a page fault mostly? */
static bool still_blocked(const struct sampler *s, const struct task *t)
{
    return t->pending && t->requested_state == THREAD_BLOCKED && s->can.schedstat &&
           t->sched.runs == t->requested_sched.runs;
}

bool pending_read(struct sampler *s, struct task *t)
{
    struct syscall_state view;
    if (!t->pending || t->filtered || !s->can.schedstat || look_counts(s, t, &t->sched) < 0 ||
        !t->pending)
        return false;
    if (still_blocked(s, t) && t->repeatable && t->sampled_runs == t->sched.runs)
        capture_still_pending(t, clock_now_ns());
    else
        return look_view(s, t, &view) == 0 && view.view == SYSCALL_BLOCKED &&
               capture_off_cpu(s, t, &view) == 0;
    return true;
}

static void look_for_stuck(struct sampler *s, struct task *t, int64_t now_ns)
{
    bool stuck = now_ns - t->requested_ns > STUCK_NS && !still_blocked(s, t) && is_stuck(s, t);
    counters_add(&s->counters, COUNT_STUCK, stuck);
}

void pending_find_stuck(struct sampler *s)
{
    int64_t now_ns = clock_now_ns();
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_tasks; j++) {
            struct task *t = s->processes[i]->tasks[j];
            if (t->pending && look_counts(s, t, &t->sched) == 0)
                look_for_stuck(s, t, now_ns);
        }
}

/* Where wallspy lost its CPU between the look at T and the request, T may have gone on into a page fault before it
 * was asked: it waits there, and was asked there.  One that was asked in a fault may sleep there several times. */
static void note_late_request(struct sampler *s, struct task *t, int64_t now_ns)
{
    struct syscall_state view;
    bool as_asked = t->sched.runs == t->requested_sched.runs &&
                    t->requested_state != THREAD_RUNNING &&
                    t->requested_state != THREAD_RUNNING_OR_RUNNABLE;
    int r = as_asked ? -EAGAIN : look_view(s, t, &view);
    counters_add(&s->counters, COUNT_UNREADABLE, r < 0 && r != -EAGAIN && r != -ESRCH);
    if (r < 0 || view.view != SYSCALL_BLOCKED || view.number >= 0 || threads_state(t) != 'D')
        return;
    struct wait_place place = capture_place(t, &view);
    t->requested_sched = t->sched;
    if (t->requested_state == THREAD_BLOCKED && capture_same_place(&t->requested_at, &place))
        return;
    t->requested_state = THREAD_BLOCKED;
    t->requested_at = place;
    t->requested_ns = now_ns;
    t->pending_repeats = 0;
}

void pending_visit(struct sampler *s, struct task *t, int64_t now_ns)
{
    counters_add(&s->counters, COUNT_PENDING_TICKS, 1);
    note_late_request(s, t, now_ns);
    t->pending_repeats++;
    look_for_stuck(s, t, now_ns);
}
