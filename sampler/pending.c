#include "sampler/pending.h"

#include <errno.h>

#include "base/clock.h"
#include "sampler/capture.h"
#include "sampler/state.h"
#include "sampler/thread_files.h"

enum {
    STUCK_NS =
        250 *
        NS_PER_MS /* a stop is noticed within some ms, a late one when the sampler has a CPU */
};

/* Should waitpid(2) not report a stop, or PTRACE_DETACH fail, the thread would stay stopped for as
 * long as the sampler's thread lives, whose end lets it go. */
static bool is_stuck(struct sampler *s, struct thread *t)
{
    char state = thread_read_state(s, t);
    tracer_reap(s->tracer);                           /* T may have stopped just now */
    if (t->pending && (state == 'Z' || state == 'X')) /* its end was not reported, either */
        thread_list_zombie(s, t);
    return t->pending && state == 't';
}

/* Has T, mostly in a page fault, not moved since it was asked to stop? */
static bool still_blocked(const struct thread *t)
{
    return t->pending && claim_holds(&t->asked, &t->sched);
}

bool pending_read(struct sampler *s, struct thread *t)
{
    struct syscall_state view;
    if (!t->pending || t->filtered || !s->can.schedstat ||
        thread_read_schedstat(s, t, &t->sched) < 0 || !t->pending)
        return false;
    if (still_blocked(t) && claim_holds(&t->sampled, &t->sched))
        claim_asked_until(t, clock_now_ns());
    else
        return thread_read_syscall(s, t, &view) == 0 && view.view == SYSCALL_BLOCKED &&
               capture_off_cpu(s, t, &view) == 0;
    return true;
}

static void check_for_stuck(struct sampler *s, struct thread *t, int64_t now_ns)
{
    bool stuck = now_ns - t->asked_ns > STUCK_NS && !still_blocked(t) && is_stuck(s, t);
    counters_add(&s->counters, COUNT_STUCK, stuck);
}

void pending_find_stuck(struct sampler *s)
{
    int64_t now_ns = clock_now_ns();
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_threads; j++) {
            struct thread *t = s->processes[i]->threads[j];
            if (t->pending && thread_read_schedstat(s, t, &t->sched) == 0)
                check_for_stuck(s, t, now_ns);
        }
}

/* Where wallspy lost its CPU between the visit and the request, T may have gone on into a page
 * fault before the request: T was asked there.  In one fault T may sleep several times. */
static void note_late_request(struct sampler *s, struct thread *t, int64_t now_ns)
{
    struct syscall_state view;
    bool as_asked = t->sched.runs == t->asked.sched.runs && t->asked.state != THREAD_RUNNING &&
                    t->asked.state != THREAD_RUNNING_OR_RUNNABLE;
    int r = as_asked ? -EAGAIN : thread_read_syscall(s, t, &view);
    counters_add(&s->counters, COUNT_UNREADABLE, r < 0 && r != -EAGAIN && r != -ESRCH);
    if (r < 0 || view.view != SYSCALL_BLOCKED || view.number >= 0 || thread_read_state(s, t) != 'D')
        return;
    claim_asked_in_fault(t, claim_place(t, &view), s->can.schedstat, now_ns);
}

void pending_visit(struct sampler *s, struct thread *t, int64_t now_ns)
{
    counters_add(&s->counters, COUNT_PENDING_TICKS, 1);
    note_late_request(s, t, now_ns);
    claim_still_asked(t, now_ns);
    check_for_stuck(s, t, now_ns);
}
