/* What is done with each thread at a tick (docs/sampling.md): repeat what has not run, read what is
 * off the CPU without a stop, ask what runs to stop, and hold it for the time of one capture. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sampler/capture.h"
#include "sampler/filters.h"
#include "sampler/look.h"
#include "sampler/pending.h"
#include "sampler/space_lock.h"
#include "sampler/state.h"
#include "sampler/stops.h"
#include "target/syscalls.h"

enum {
    MEET_SHARE = 2, /* of an interval, in which new threads are met */
    MEET_AT_LEAST = 8,
    MEET_TICKS = 32, /* in which all are met, however long those take */
};

/* ---- one thread ---- */

/* Which of the two a thread that can run does.  Its run count is one ahead of its switches while it
 * is on a CPU: the kernel counts an arrival when it is switched in and a switch when it is switched
 * out. */
static enum thread_state running_or_waiting(struct sampler *s, struct task *t)
{
    struct task_status status;
    struct schedstat after;
    if (!s->can.schedstat || look_status(s, t, &status) < 0 || look_counts(s, t, &after) < 0 ||
        after.runs != t->sched.runs)
        return THREAD_RUNNING_OR_RUNNABLE;
    int64_t ahead = (int64_t)(after.runs - status.voluntary - status.involuntary);
    if (ahead < t->switch_base) /* an arrival was missed: it happens to some tasks now and then */
        t->switch_base = ahead;
    if (ahead == t->switch_base)
        return THREAD_RUNNABLE;
    return ahead == t->switch_base + 1 ? THREAD_RUNNING : THREAD_RUNNING_OR_RUNNABLE;
}

/* T runs or waits for a CPU.  Of the first such thread of a tick, which often is the only one, the stop
 * itself tells which (capture_held()): that costs nothing, and to read its status some 25 µs with cold
 * caches.  The others are told apart here, since those that run are asked first; and one that did not stop
 * at once the last time: where it shares our CPU it cannot while it is waited for. */
static void queue_runnable(struct sampler *s, struct task *t, int64_t now_ns)
{
    bool stop_tells = s->n_queued == 0 && !t->slow_to_stop && !t->supervised &&
                      !s->config.no_stop && !s->config.freeze;
    t->requested_state = stop_tells ? THREAD_RUNNING_OR_RUNNABLE : running_or_waiting(s, t);
    s->waiting |= t->requested_state == THREAD_RUNNABLE;
    stops_queue(s, t, now_ns);
}

static void visit_off_cpu(struct sampler *s, struct task *t, struct syscall_state *view,
                          int64_t now_ns)
{
    int r = capture_off_cpu(s, t, view);
    if (r == -ESRCH) {
        threads_end(s, t);
    } else if (r == -EAGAIN) {
        queue_runnable(s, t, now_ns);
    } else if (r < 0) {
        counters_add(&s->counters, COUNT_UNREADABLE, 1);
    }
}

/* It has no user stack, and does not stop. */
static void visit_io_worker(struct sampler *s, struct task *t, const struct syscall_state *view,
                            int64_t now_ns)
{
    bool blocked = view->view == SYSCALL_BLOCKED;
    t->state = blocked ? THREAD_BLOCKED : running_or_waiting(s, t);
    capture_tell(s, t, MESSAGE_SAMPLE, SAMPLE_NO_STACK | SAMPLE_IO_WORKER, now_ns);
    t->hook = process_hook(t->process);
    t->repeatable = blocked && s->can.schedstat;
    t->sampled_runs = t->sched.runs;
}

static void repeat(struct sampler *s, struct task *t, int64_t now_ns)
{
    t->until_ns = now_ns;
    t->repeats++;
    counters_add(&s->counters, COUNT_REPEATS, 1);
}

/* May T be stopped for its registers, which were not refused where it is now? */
static bool may_want_registers(const struct sampler *s, const struct task *t)
{
    return !s->config.no_stop && !t->supervised && t->registers_refused != t->sched.runs &&
           s->tick_ns >= t->stop_not_before_ns && s->tick_ns >= t->call_not_before_ns &&
           !stops_wait_for_execve(s, t);
}

/* Are those of its sample wanted?  If not, to look at it again would tell nothing new. */
static bool wants_registers(const struct sampler *s, const struct task *t)
{
    return may_want_registers(s, t) && feedback_wants_registers(&s->feedback, t->id, t->sched.runs);
}

/* Did the last sample not have all that the worker needs, which may have found Python since? */
static bool needs_more(const struct sampler *s, const struct task *t)
{
    return feedback_wants_again(&s->feedback, t->id, t->sched.runs) ||
           t->hook != process_hook(t->process) ||
           (t->stack_cut && feedback_stack(&s->feedback, t->id) > t->stack_bytes) ||
           (s->config.single_shot && t->area_unknown) || wants_registers(s, t);
}

/* Is its last sample still what it does? */
static bool still_there(const struct sampler *s, const struct task *t)
{
    return t->repeatable && t->sched.runs == t->sampled_runs && !needs_more(s, t);
}

/* Would T, which is off the CPU at PLACE, not notice a stop?  In a call, if that restarts cleanly.  In a page fault,
 * if no signal is let in ('D'): FUSE gives up what it reads for one, and begins anew.  A job-control stop ('T') has
 * broken off either before. */
static bool minds_no_stop(struct sampler *s, struct task *t, const struct wait_place *place)
{
    if (place->syscall >= 0 && syscall_restarts_cleanly(place->syscall) &&
        !filters_forbid_stop(s, t, place->syscall))
        return true;
    char state = threads_state(t);
    return state == 'T' || (state == 'D' && place->syscall < 0);
}

static void stop_blocked(struct sampler *s, struct task *t, const struct syscall_state *view,
                         int64_t now_ns)
{
    t->requested_state = THREAD_BLOCKED;
    t->requested_at = capture_place(t, view);
    if (!t->object)
        t->object = xcalloc(1, sizeof *t->object);
    object_look(t->object, t->process->pid, view->number, view->args[0]);
    stops_queue(s, t, now_ns);
}

/* The worker found that a stack cannot be unwound from sp alone: one stop.  Short waits are over by then, so where
 * that was so once it is taken to be so again. */
static bool stop_for_registers(struct sampler *s, struct task *t, const struct syscall_state *view,
                               int64_t now_ns)
{
    struct wait_place place = capture_place(t, view);
    if (feedback_wants_registers(&s->feedback, t->id, t->sampled_runs))
        t->needs_registers = t->sampled_at;
    if (!may_want_registers(s, t) || !capture_same_place(&place, &t->needs_registers))
        return false;
    if (!minds_no_stop(s, t, &place)) {
        t->registers_refused = t->sched.runs;
        return false;
    }
    counters_add(&s->counters, COUNT_REGISTERS_WANTED, 1);
    feedback_forget_registers(&s->feedback, t->id);
    stop_blocked(s, t, view, now_ns);
    return true;
}

/* Off the CPU outside of any call: in a page fault, stopped by a signal, or about to end.  A fault is over before the
 * worker can say that it needs registers, so they are asked for at once: T stops where it was, when its page is there. */
static void visit_outside(struct sampler *s, struct task *t, struct syscall_state *view,
                          int64_t now_ns)
{
    int state = threads_look_at(s, t);
    bool may_ask = !s->config.no_stop && !s->config.single_shot && view->sp &&
                   now_ns >= t->stop_not_before_ns && !stops_wait_for_execve(s, t);
    if (state == 0)
        threads_zombie(s, t);
    else if (may_ask && state == 'R') /* the page has come */
        queue_runnable(s, t, now_ns);
    else if (may_ask && state == 'D')
        stop_blocked(s, t, view, now_ns);
    else if (!stop_for_registers(s, t, view, now_ns))
        visit_off_cpu(s, t, view, now_ns);
}

/* --freeze holds blocked threads too, where the program will not notice, until its time is over. */
static bool freeze_blocked(struct sampler *s, struct task *t, const struct syscall_state *view,
                           int64_t now_ns)
{
    if (!s->config.freeze || stops_thaw(s) || !syscall_restarts_cleanly(view->number) ||
        filters_forbid_stop(s, t, view->number))
        return false;
    stop_blocked(s, t, view, now_ns);
    return true;
}

/* Where it is may not be known any more: PR_SET_DUMPABLE was cleared, or its user changed. */
static void visit_hidden(struct sampler *s, struct task *t, int64_t now_ns)
{
    counters_add(&s->counters, COUNT_REFUSED, 1);
    capture_tell(s, t, MESSAGE_SAMPLE, SAMPLE_NO_STACK, now_ns);
}

/* VIEW: where it is now. */
static void visit_viewed(struct sampler *s, struct task *t, struct syscall_state *view,
                         int64_t now_ns)
{
    bool blocked = view->view == SYSCALL_BLOCKED;
    if (blocked)
        filters_look(s, t, view->number);
    if (t->io_worker) {
        visit_io_worker(s, t, view, now_ns);
    } else if (blocked && !view->sp && threads_look_at(s, t) == 0) {
        threads_zombie(s, t); /* of somebody else's tracee */
    } else if (capture_resumed(t, view) && !needs_more(s, t)) {
        t->repeatable = true;
        t->sampled_runs = t->sched.runs;
        repeat(s, t, now_ns);
    } else if (!blocked) {
        queue_runnable(s, t, now_ns);
    } else if (view->number < 0) {
        visit_outside(s, t, view, now_ns);
    } else if (!stop_for_registers(s, t, view, now_ns) && !freeze_blocked(s, t, view, now_ns)) {
        visit_off_cpu(s, t, view, now_ns);
    }
}

/* The first look at a thread and its first sample take as long as 30 later ones.  The many of a big program
 * are met over some ticks, in which those that are known are sampled as they should be: first those that run. */
static bool may_meet(struct sampler *s, struct task *t, int64_t now_ns)
{
    int64_t end_ns = s->tick_ns + s->interval_ns / MEET_SHARE;
    size_t least = MEET_AT_LEAST + t->process->n_tasks / MEET_TICKS;
    if (s->config.single_shot || s->met++ < least || now_ns < end_ns)
        return true;
    if (t->peeked)
        return false;
    t->peeked = true;
    return threads_state(t) == 'R';
}

static void visit(struct sampler *s, struct task *t)
{
    struct syscall_state view;
    int64_t now_ns = clock_now_ns();
    if (!t->met && may_meet(s, t, now_ns))
        threads_meet(s, t);
    if (!t->met || t->zombie || t->filtered)
        return;
    sleepers_settle(t);
    if (s->config.single_shot && t->sampled && !needs_more(s, t))
        return;
    int r = look_counts(s, t, &t->sched);
    if (r == -ESRCH) {
        if (t->pending) /* its end comes from the tracer, or with the next listing */
            t->process->lost_one = true;
        else
            threads_end(s, t);
        return;
    }
    counters_add(&s->counters, COUNT_UNREADABLE, r < 0);
    if (t->pending) {
        pending_visit(s, t, now_ns);
        return;
    }
    if (r == 0 && still_there(s, t)) {
        repeat(s, t, now_ns);
        return;
    }
    sleepers_moved(t);
    t->repeatable = false;
    r = look_view(s, t, &view);
    if (r == -ESRCH)
        threads_end(s, t);
    else if (r == -EPERM)
        visit_hidden(s, t, now_ns);
    else if (r == 0)
        visit_viewed(s, t, &view, now_ns);
    else if (r != -EAGAIN)
        counters_add(&s->counters, COUNT_UNREADABLE, 1);
}

/* ---- the tick ---- */

static void visit_each(struct sampler *s, struct task *const *tasks, const size_t *n)
{
    for (size_t i = 0; i < *n;) {
        /* Of 10,000 threads the first tick takes a second or more. */
        if (!s->config.single_shot && atomic_load_explicit(&s->stop, memory_order_relaxed))
            break;
        const struct task *t = tasks[i];
        visit(s, tasks[i]);
        stops_ask_in_time(s);
        if (tracer_pending(s->tracer))
            tracer_reap(s->tracer);
        i += i < *n && tasks[i] == t; /* else it ended, and another has its place */
    }
}

static void visit_process(struct sampler *s, struct process *p)
{
    if (sleepers_undisturbed(s, p)) {
        visit_each(s, p->sleepers.awake, &p->sleepers.n_awake);
    } else {
        visit_each(s, p->tasks, &p->n_tasks);
        sleepers_choose(p);
    }
}

/* Where one thread ended and another began, their number is the same: the end alone tells of it.  No thread is queued
 * to be stopped: the listing may end any. */
static void visit_successors(struct sampler *s, struct process *p)
{
    threads_list(s, p, false);
    for (size_t i = 0; i < p->n_tasks;) {
        struct task *t = p->tasks[i];
        if (!t->met)
            visit(s, t);
        i += i < p->n_tasks && p->tasks[i] == t;
    }
}

static void visit_and_ask(struct sampler *s, struct process *p)
{
    bool listed = threads_prepare(s, p);
    s->met = 0;
    p->lost_one = false;
    visit_process(s, p);
    stops_ask(s);
    /* Not twice a tick: it takes long where there are many. */
    p->list_again |= p->lost_one && listed;
    if (p->lost_one && !listed) {
        visit_successors(s, p);
        stops_ask(s);
    }
}

/* Those that come late, or the others.  Returns how many threads they have. */
static uint32_t visit_processes(struct sampler *s, bool late)
{
    uint32_t tasks = 0;
    for (uint32_t i = 0; i < s->n_processes; i++) {
        struct process *p = s->processes[i];
        if (p->ended || p->comes_late != late)
            continue;
        visit_and_ask(s, p);
        tasks += (uint32_t)p->n_tasks;
    }
    return tasks;
}

/* Processes that were locked of late come last, so that the others do not wait for them. */
void tick_run(struct sampler *s)
{
    uint32_t tasks = 0;
    threads_free_ended(s);
    s->tick_ns = clock_now_ns();
    s->waiting_before = s->waiting;
    s->waiting = false;
    for (uint32_t i = 0; i < s->n_processes; i++)
        s->processes[i]->comes_late = space_was_locked(s, s->processes[i]);
    tasks += visit_processes(s, false);
    tasks += visit_processes(s, true);
    if (tasks) /* how many there were at last, once all are gone */
        atomic_store_explicit(&s->task_count, tasks, memory_order_relaxed);
    counters_add(&s->counters, COUNT_TICKS, 1);
}

void tick_tell(struct sampler *s)
{
    struct task none = {0};
    for (uint32_t i = 0; i < s->n_processes; i++) {
        none.process = s->processes[i];
        for (size_t j = 0; j < s->processes[i]->n_tasks; j++) {
            struct task *t = s->processes[i]->tasks[j];
            sleepers_settle(t);
            (void)pending_read(s, t);
            if (t->repeats)
                capture_tell(s, t, MESSAGE_STILL, 0, t->until_ns);
        }
    }
    capture_tell(s, &none, MESSAGE_TOLD, 0, clock_now_ns());
}

/* It was asked to stop, and got no CPU to do so in all the time that we waited for it. */
static void tell_of_wait(struct sampler *s, struct task *t, int64_t now_ns)
{
    struct schedstat now = t->sched;
    t->state = THREAD_RUNNABLE;
    t->sched = t->requested_sched;
    capture_tell(s, t, MESSAGE_SAMPLE, SAMPLE_NO_STACK | SAMPLE_NEVER_STOPPED, t->requested_ns);
    t->sched = now;
    t->until_ns = now_ns;
    t->repeats = t->pending_repeats;
}

static void close_task(struct sampler *s, struct task *t)
{
    sleepers_settle(t);
    int64_t now_ns = clock_now_ns();
    int r = look_counts(s, t, &t->sched);
    bool waits = t->pending && !t->filtered && t->requested_state != THREAD_BLOCKED &&
                 !counters_get(&s->counters, COUNT_STUCK);
    if (r == 0 && waits)
        tell_of_wait(s, t, now_ns);
    else if (r == 0 && t->repeatable && t->sched.runs == t->sampled_runs)
        t->until_ns = now_ns;
    capture_tell(s, t, MESSAGE_TASK_END, TASK_STILL_ALIVE, now_ns);
    t->ended = true; /* if it stops only now, nobody waits for it */
}

void tick_conclude(struct sampler *s)
{
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_tasks; j++) {
            struct task *t = s->processes[i]->tasks[j];
            if (pending_read(s, t)) {
                tracer_forget(s->tracer, t->tid);
                t->pending = false;
            }
            if (!t->pending && t->met) /* now: others may take a second to stop */
                close_task(s, t);
        }
}

void tick_close(struct sampler *s)
{
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_tasks; j++) {
            struct task *t = s->processes[i]->tasks[j];
            counters_add(&s->counters, COUNT_NOT_MET, !t->met);
            if (t->met && !t->ended)
                close_task(s, t);
        }
}
