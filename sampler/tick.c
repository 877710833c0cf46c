/* A tick's work on each thread (docs/sampling.md).  A thread that has not run is repeated, a thread
 * off the CPU is read without a stop, a thread that runs is asked to stop. */
#include <errno.h>
#include <string.h>

#include "arch/syscalls.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "sampler/capture.h"
#include "sampler/left_alone.h"
#include "sampler/lock_reading.h"
#include "sampler/lock_watch.h"
#include "sampler/long_write.h"
#include "sampler/on_cpu.h"
#include "sampler/overhead.h"
#include "sampler/pending.h"
#include "sampler/seccomp.h"
#include "sampler/space_lock.h"
#include "sampler/state.h"
#include "sampler/stop_requests.h"
#include "sampler/thread_files.h"

enum {
    REGISTER_SHARE = 2, /* new threads are registered in one part of so many of an interval */
    REGISTER_AT_LEAST = 8,
    VISITS_AT_ONCE = 64, /* between looks at the sampler's own CPU time */
    REGISTER_TICKS = 32, /* all are registered in so many ticks, however long these take */
};

/* ---- one thread ---- */

static void repeat(struct sampler *s, struct thread *t, int64_t now_ns)
{
    claim_extend(t, now_ns, 1);
    counters_add(&s->counters, COUNT_REPEATS, 1);
}

/* Does the stop of T itself show whether it runs or waits for a CPU?  For the first such thread of
 * a tick, often the only one, that costs nothing, while to read its counts takes 25 µs with cold
 * caches.  The others are told apart before, because those that run are asked first, and not all
 * that wait are asked.  So is a thread that was slow to stop: it may share the sampler's CPU, and
 * cannot stop while the sampler waits for it.  And so is one whose call a stop restarts, whether it
 * sleeps there or its time is over. */
static bool stop_tells(const struct sampler *s, const struct thread *t)
{
    return s->n_queued == 0 && !s->waiting_before && !t->slow_to_stop && !t->supervised &&
           !s->config.no_stop && !stop_requests_freeze(s) &&
           !syscall_restarts_late(t->sampled.place.syscall);
}

/* T seems to wait for a CPU: is it left alone, and its wait sampled?  It may have fallen asleep
 * since it was viewed, unless its counts PROVE that it had left its CPU before.  The counts are
 * those of that sleep then, and would prove a wait for a CPU as long as it sleeps; the next tick
 * finds it asleep. */
static bool leave_waiting(struct sampler *s, struct thread *t, bool proven, int64_t now_ns)
{
    return waiters_leave(s, t) &&
           ((!proven && !thread_is_awake(s, t)) || capture_waiting(s, t, proven, now_ns));
}

/* T runs or waits for a CPU. */
static void visit_runnable(struct sampler *s, struct thread *t, int64_t now_ns)
{
    if (long_write_goes_on(t, now_ns)) {
        counters_add(&s->counters, COUNT_LONG_WRITES, 1);
        repeat(s, t, now_ns);
        return;
    }
    t->displaced = false;
    t->wait_share = 1;
    bool looked = on_cpu_looked(s, t);
    enum thread_state state = stop_tells(s, t) ? THREAD_RUNNING_OR_RUNNABLE : on_cpu_state(s, t);
    s->waiting |= state == THREAD_RUNNABLE || t->displaced;
    t->process->ran = true;
    if (state == THREAD_RUNNABLE && leave_waiting(s, t, looked, now_ns))
        return;
    claim_found(t, state);
    stop_requests_queue(s, t, now_ns);
}

static void visit_off_cpu(struct sampler *s, struct thread *t, struct syscall_state *view,
                          int64_t now_ns)
{
    int r = capture_off_cpu(s, t, view);
    if (r == 0) {
        long_write_sampled(s, t, view);
    } else if (r == -ESRCH) {
        thread_list_end(s, t);
    } else if (r == -EAGAIN) {
        visit_runnable(s, t, now_ns);
    } else if (r < 0) {
        counters_add(&s->counters, COUNT_UNREADABLE, 1);
    }
}

/* An io_uring worker has no user stack, and does not stop. */
static void visit_io_worker(struct sampler *s, struct thread *t, const struct syscall_state *view,
                            int64_t now_ns)
{
    bool blocked = view->view == SYSCALL_BLOCKED;
    enum thread_state state = blocked ? THREAD_BLOCKED : on_cpu_state(s, t);
    claim_sampled(t, state, (struct wait_place){0}, blocked && s->can.schedstat);
    capture_emit(s, t, MESSAGE_SAMPLE, SAMPLE_NO_STACK | SAMPLE_IO_WORKER, now_ns);
}

/* May T be stopped for its registers where it is now?  The looks before a single shot leave alone
 * who is blocked: then its run count shows whether it runs meanwhile. */
static bool may_want_registers(const struct sampler *s, const struct thread *t)
{
    return !s->config.no_stop && s->shooting == s->config.single_shot && !t->supervised &&
           t->registers_refused != t->sched.runs && s->tick_ns >= t->stop_not_before_ns &&
           s->tick_ns >= t->call_not_before_ns && !stop_requests_wait_for_exec(s, t);
}

/* Does the worker want T's registers, which T may be stopped for? */
static bool wants_registers(const struct sampler *s, const struct thread *t)
{
    return may_want_registers(s, t) && feedback_wants_registers(&s->feedback, t->id, t->sched.runs);
}

/* Does the worker need more than the last sample had?  The worker may have found Python since. */
static bool needs_more(const struct sampler *s, const struct thread *t)
{
    if (t->io_worker)
        return false;
    return feedback_wants_recapture(&s->feedback, t->id, t->sched.runs) ||
           t->hook != process_hook(t->process) ||
           (t->stack_cut && feedback_stack(&s->feedback, t->id) > t->stack_bytes) ||
           (s->shooting && t->area_unknown) || wants_registers(s, t);
}

/* Does T's last sample say all there is to say now? */
static bool still_there(struct sampler *s, struct thread *t)
{
    if (!claim_holds(&t->sampled, &t->sched) || needs_more(s, t))
        return false;
    return t->sampled.state != THREAD_RUNNABLE || waiters_still(s, t);
}

/* Does the call NUMBER that T is blocked in go on as before when it was stopped?  read(2) and its
 * like do not on a socket with a time-out, which would begin anew: only the program can ask for
 * that. */
static bool restarts_cleanly(struct sampler *s, struct thread *t, int64_t number,
                             const uint64_t args[6])
{
    return number >= 0 && syscall_restarts_cleanly(number) && !seccomp_forbids_stop(s, t, number) &&
           !(syscall_takes_fd(number) && syscall_needs_repair(number, args) &&
             wait_object_is_socket(t->process, args[0]));
}

/* Is a stop of T, which is off the CPU at PLACE, without effect on it?  A call that restarts
 * cleanly goes on as before, and so does a page fault that lets no signal in ('D').  (In one that
 * does, FUSE gives up what it reads, and begins anew.)  SIGSTOP ('T') has broken either off
 * already. */
static bool stop_is_invisible(struct sampler *s, struct thread *t, const struct wait_place *place,
                              const uint64_t args[6])
{
    if (restarts_cleanly(s, t, place->syscall, args))
        return true;
    char state = thread_read_state(s, t);
    return state == 'T' || (state == 'D' && place->syscall < 0);
}

static void stop_blocked(struct sampler *s, struct thread *t, const struct syscall_state *view,
                         int64_t now_ns)
{
    claim_found_blocked(t, claim_place(t, view), s->can.schedstat);
    if (!t->wait_object)
        t->wait_object = xcalloc(1, sizeof *t->wait_object);
    wait_object_look_up(t->wait_object, t->process, view->number, view->args);
    stop_requests_queue(s, t, now_ns);
}

/* The worker found that T's stack cannot be unwound from sp alone: one stop.  A short wait is over
 * before the worker can ask, so the place is remembered and T is stopped when it is there again. */
static bool stop_for_registers(struct sampler *s, struct thread *t,
                               const struct syscall_state *view, int64_t now_ns)
{
    struct wait_place place = claim_place(t, view);
    if (feedback_wants_registers(&s->feedback, t->id, t->sampled.sched.runs))
        t->needs_registers = t->sampled.place;
    if (!may_want_registers(s, t) || !claim_same_place(&place, &t->needs_registers))
        return false;
    if (!stop_is_invisible(s, t, &place, view->args)) {
        t->registers_refused = t->sched.runs;
        return false;
    }
    counters_add(&s->counters, COUNT_REGISTERS_WANTED, 1);
    feedback_forget_registers(&s->feedback, t->id);
    stop_blocked(s, t, view, now_ns);
    return true;
}

/* T is off the CPU outside of any call: in a page fault, stopped by a signal, or about to end.  A
 * fault is over before the worker can ask for registers, so T is asked to stop at once.  T stops,
 * at the same instruction, when its page is there. */
static void visit_outside(struct sampler *s, struct thread *t, struct syscall_state *view,
                          int64_t now_ns)
{
    int state = thread_read_stat(s, t);
    bool may_ask = !s->config.no_stop && !s->config.single_shot && view->sp &&
                   now_ns >= t->stop_not_before_ns && !stop_requests_wait_for_exec(s, t);
    if (state == 0)
        thread_list_zombie(s, t);
    else if (may_ask && state == 'R') /* the page has come */
        visit_runnable(s, t, now_ns);
    else if (may_ask && state == 'D')
        stop_blocked(s, t, view, now_ns);
    else if (!stop_for_registers(s, t, view, now_ns))
        visit_off_cpu(s, t, view, now_ns);
}

/* Until its time is over --freeze holds blocked threads too, where the program will not notice. */
static bool freeze_blocked(struct sampler *s, struct thread *t, const struct syscall_state *view,
                           int64_t now_ns)
{
    if (!stop_requests_freeze(s) || stop_requests_release_frozen(s) ||
        !restarts_cleanly(s, t, view->number, view->args))
        return false;
    stop_blocked(s, t, view, now_ns);
    return true;
}

/* T may no longer be read: PR_SET_DUMPABLE was cleared, or its user changed. */
static void visit_hidden(struct sampler *s, struct thread *t, int64_t now_ns)
{
    counters_add(&s->counters, COUNT_REFUSED, 1);
    capture_emit(s, t, MESSAGE_SAMPLE, SAMPLE_NO_STACK, now_ns);
}

/* Does the single shot have all that there is to say of T? */
static bool is_shot(const struct sampler *s, const struct thread *t)
{
    return s->shooting && t->shot && !needs_more(s, t);
}

/* Does T's last sample say it, too?  The single shot reads each thread anew. */
static bool goes_on(struct sampler *s, struct thread *t, int64_t now_ns)
{
    if (!still_there(s, t))
        return false;
    repeat(s, t, now_ns);
    return !s->shooting || t->shot;
}

/* VIEW: where T is now. */
static void visit_viewed(struct sampler *s, struct thread *t, struct syscall_state *view,
                         int64_t now_ns)
{
    bool blocked = view->view == SYSCALL_BLOCKED;
    if (!claim_is_back(t, view))
        lock_watch_leave(t);
    if (blocked)
        seccomp_check(s, t, view->number);
    if (t->io_worker) {
        visit_io_worker(s, t, view, now_ns);
    } else if (blocked && !view->sp && thread_read_stat(s, t) == 0) {
        thread_list_zombie(s, t); /* another tracer has not reaped it */
    } else if (claim_is_back(t, view) && !needs_more(s, t) && s->shooting == t->shot) {
        claim_back(t);
        repeat(s, t, now_ns);
    } else if (!blocked) {
        visit_runnable(s, t, now_ns);
    } else if (view->number < 0) {
        visit_outside(s, t, view, now_ns);
    } else if (!stop_for_registers(s, t, view, now_ns) && !freeze_blocked(s, t, view, now_ns)) {
        visit_off_cpu(s, t, view, now_ns);
    }
}

/* To register a thread and to sample it for the first time takes as long as 30 visits.  The many
 * threads of a big program are registered over some ticks, those that run first, so that the known
 * ones are sampled at the full rate meanwhile. */
static bool may_register(struct sampler *s, struct thread *t, int64_t now_ns)
{
    int64_t end_ns = s->tick_ns + s->interval_ns / REGISTER_SHARE;
    size_t least = REGISTER_AT_LEAST + t->process->n_threads / REGISTER_TICKS;
    if (s->config.single_shot || s->n_registered++ < least || now_ns < end_ns)
        return true;
    if (t->state_checked)
        return false;
    t->state_checked = true;
    return thread_read_state(s, t) == 'R';
}

/* T, which waited for a CPU, has run since, and now does so again, as long as others do. */
static bool seems_to_wait(const struct sampler *s, const struct thread *t)
{
    return s->waiting_before && t->sampled.state == THREAD_RUNNABLE && t->base_known &&
           !s->shooting;
}

static void visit(struct sampler *s, struct thread *t)
{
    struct syscall_state view;
    int64_t now_ns = clock_now_ns();
    if (!t->registered && may_register(s, t, now_ns))
        thread_list_register(s, t);
    if (!t->registered || t->zombie || t->filtered)
        return;
    dormant_update(t);
    dormant_note_visit(t);
    if (is_shot(s, t))
        return;
    struct schedstat before = t->sched;
    int r = thread_read_schedstat(s, t, &t->sched);
    if (r == -ESRCH) {
        if (t->pending) /* the tracer or the next listing will notice its end */
            t->process->lost_thread = true;
        else
            thread_list_end(s, t);
        return;
    }
    counters_add(&s->counters, COUNT_UNREADABLE, r < 0);
    if (t->pending) {
        pending_visit(s, t, now_ns);
        return;
    }
    if (r == 0 && goes_on(s, t, now_ns))
        return;
    dormant_note_run(t, now_ns, &before);
    waiters_moved(t);
    claim_drop(t);
    if (seems_to_wait(s, t))
        on_cpu_look(s, t);
    r = thread_read_syscall(s, t, &view);
    if (r == 0 && view.view != SYSCALL_BLOCKED)
        dormant_note_active(t);
    if (r == -ESRCH)
        thread_list_end(s, t);
    else if (r == -EPERM)
        visit_hidden(s, t, now_ns);
    else if (r == 0)
        visit_viewed(s, t, &view, now_ns);
    else if (r != -EAGAIN)
        counters_add(&s->counters, COUNT_UNREADABLE, 1);
}

/* ---- the tick ---- */

/* A thread that was asked may stop while memory of T's process is read, which may not come, and
 * nobody hears of it meanwhile: the watchdog is to see a hold. */
static void reading_begins(struct sampler *s, struct thread *t)
{
    if (!tracer_pending(s->tracer))
        return;
    s->held_thread = t;
    tracer_hears_nothing(s->tracer, clock_now_ns());
}

static void reading_ends(struct sampler *s)
{
    tracer_hears_nothing(s->tracer, 0);
}

static void visit_and_reap(struct sampler *s, struct thread *t)
{
    reading_begins(s, t);
    visit(s, t);
    reading_ends(s);
    stop_requests_send_if_due(s);
    if (tracer_pending(s->tracer))
        tracer_reap(s->tracer);
}

static void visit_each(struct sampler *s, struct thread *const *threads, const size_t *n)
{
    for (size_t i = 0; i < *n;) {
        /* Of 10,000 threads the first tick takes a second or more. */
        if (i && !s->shooting && atomic_load_explicit(&s->stop, memory_order_relaxed))
            break;
        const struct thread *t = threads[i];
        if (i % VISITS_AT_ONCE == 0)
            overhead_keep_priority(s);
        visit_and_reap(s, threads[i]);
        i += i < *n && threads[i] == t; /* otherwise T ended, and another has its place */
    }
}

static void look_at_each(struct sampler *s, struct dormant *d, struct slice slice)
{
    if (!slice.n) /* the clock is a system call */
        return;
    int64_t begun_ns = clock_cpu_ns();
    for (size_t i = 0; i < slice.n; i++) {
        if (dormant_look(s, d, slice.places[i]))
            continue;
        if (d->sleepers[slice.places[i]].thread)
            visit_and_reap(s, d->sleepers[slice.places[i]].thread);
        dormant_note_look(d, slice.places[i]);
    }
    dormant_note_cost(d, slice.n, clock_cpu_ns() - begun_ns);
}

static void visit_threads(struct sampler *s, struct process *p, bool dormant_rest)
{
    visit_each(s, p->dormant.visited, &p->dormant.n_visited);
    if (!dormant_rest)
        look_at_each(s, &p->dormant, dormant_slice(&p->dormant));
    dormant_end_tick(s, p, dormant_rest);
}

/* Where one thread ended and another began their number is the same: only the end is noticed.  No
 * thread may be queued to be stopped, because the listing may end any. */
static void visit_successors(struct sampler *s, struct process *p)
{
    thread_list_read(s, p, false);
    for (size_t i = 0; i < p->n_threads;) {
        struct thread *t = p->threads[i];
        if (!t->registered)
            visit(s, t);
        i += i < p->n_threads && p->threads[i] == t;
    }
}

/* Has none of the visited threads run since its last sample? */
static bool visited_rest(struct sampler *s, const struct dormant *d)
{
    for (size_t i = 0; i < d->n_visited; i++) {
        struct thread *t = d->visited[i];
        if (!t->registered || t->pending || t->filtered ||
            thread_read_schedstat(s, t, &t->sched) < 0 || !still_there(s, t))
            return false;
    }
    return true;
}

/* Has no thread of P run since its last sample?  Then none has ended, begun another or called
 * execve, and Python's lists are as they were.  DORMANT_REST: nor has a dormant one. */
static bool process_rests(struct sampler *s, struct process *p, bool dormant_rest)
{
    const struct dormant *d = &p->dormant;
    return p->turn == TURN_USUAL && !s->shooting && (dormant_rest || !d->n_dormant) &&
           d->n_visited + d->n_dormant > 0 && process_is_known(p, clock_now_ns()) &&
           visited_rest(s, d);
}

static bool any_pending(const struct process *p)
{
    for (size_t i = 0; i < p->n_threads; i++)
        if (p->threads[i]->pending)
            return true;
    return false;
}

/* What P's memory says of the process.  Returns whether its threads were listed. */
static bool read_process(struct sampler *s, struct process *p)
{
    if (p->n_threads)
        reading_begins(s, p->threads[0]);
    lock_reading_look(s, p);
    bool listed = thread_list_update(s, p, false);
    thread_list_run_hook(s, p);
    reading_ends(s);
    return listed;
}

/* Where P's memory may be locked just now it is read last of all, and not while a thread has not
 * stopped yet, which may have it locked: when a read returns, the call that had locked it is over,
 * and its thread elsewhere, also for a tick that was due meanwhile. */
static void visit_and_ask(struct sampler *s, struct process *p)
{
    bool dormant_rest = dormant_unchanged(s, p);
    int64_t now_ns = clock_now_ns(); /* before the threads are looked at */
    if (process_rests(s, p, dormant_rest)) {
        for (size_t i = 0; i < p->dormant.n_visited; i++)
            repeat(s, p->dormant.visited[i], now_ns);
        dormant_end_tick(s, p, dormant_rest);
        lock_reading_rest(s, p, now_ns);
        return;
    }
    bool locked = space_was_locked(s, p);
    bool listed = locked ? thread_list_update(s, p, true) : read_process(s, p);
    s->n_registered = 0;
    p->lost_thread = false;
    visit_threads(s, p, dormant_rest);
    stop_requests_send(s);
    if (locked && !p->ended && !any_pending(p))
        listed |= read_process(s, p); /* an execve that only the memory shows */
    /* Not twice a tick: a listing takes long where there are many threads. */
    bool again = !listed && process_may_list(p, clock_now_ns());
    p->list_again |= p->lost_thread && !again;
    if (p->lost_thread && again) {
        visit_successors(s, p);
        stop_requests_send(s);
    }
}

/* Visits the processes whose turn it is.  Returns how many threads they have. */
static uint32_t visit_processes(struct sampler *s, enum process_turn turn)
{
    uint32_t threads = 0;
    for (uint32_t i = 0; i < s->n_processes; i++) {
        struct process *p = s->processes[i];
        if (p->ended || p->turn != turn)
            continue;
        if (!left_alone(s, p))
            visit_and_ask(s, p);
        threads += (uint32_t)p->n_threads;
    }
    return threads;
}

/* Processes that were locked of late come last, so that no other waits for them.  Those that ran at
 * the last tick come first: the scheduler lets the sampler release their threads at once as long as
 * the tick is short. */
static enum process_turn turn_of(const struct sampler *s, const struct process *p)
{
    if (space_was_locked(s, p))
        return TURN_LAST;
    return p->ran ? TURN_FIRST : TURN_USUAL;
}

void tick_run(struct sampler *s)
{
    uint32_t threads = 0;
    thread_list_free_ended(s);
    process_table_update(s);
    s->tick_ns = clock_now_ns();
    s->waiting_before = s->waiting;
    s->waiting = false;
    waiters_begin_tick(&s->waiters);
    for (uint32_t i = 0; i < s->n_processes; i++) {
        s->processes[i]->turn = turn_of(s, s->processes[i]);
        s->processes[i]->ran = false;
    }
    for (enum process_turn turn = TURN_FIRST; turn < TURN_COUNT; turn++)
        threads += visit_processes(s, turn);
    if (threads) /* when all are gone the count stays that of the last tick */
        atomic_store_explicit(&s->thread_count, threads, memory_order_relaxed);
    counters_add(&s->counters, COUNT_TICKS, 1);
}

bool tick_flush(struct sampler *s)
{
    for (uint32_t i = 0; i < s->n_processes; i++) {
        for (size_t j = 0; j < s->processes[i]->n_threads; j++) {
            struct thread *t = s->processes[i]->threads[j];
            dormant_update(t);
            (void)pending_read(s, t);
            if (t->repeats)
                capture_emit(s, t, MESSAGE_EXTENDED, 0, t->until_ns);
        }
    }
    return capture_emit_process(s, s->added[0], MESSAGE_FLUSHED, clock_now_ns());
}

/* T was asked to stop, and has had no CPU to do so until the end. */
static void emit_wait(struct sampler *s, struct thread *t, int64_t now_ns)
{
    claim_sampled_once(t, THREAD_RUNNABLE);
    capture_emit_never_stopped(s, t);
    claim_extend(t, now_ns, t->asked_ticks);
}

static void close_task(struct sampler *s, struct thread *t)
{
    dormant_update(t);
    int64_t now_ns = clock_now_ns();
    int r = thread_read_schedstat(s, t, &t->sched);
    bool waits = t->pending && !t->filtered && t->asked.state != THREAD_BLOCKED &&
                 !counters_get(&s->counters, COUNT_STUCK);
    if (r == 0 && waits)
        emit_wait(s, t, now_ns);
    else if (r == 0 && claim_holds(&t->sampled, &t->sched))
        claim_extend(t, now_ns, 0);
    capture_emit(s, t, MESSAGE_THREAD_END, THREAD_STILL_ALIVE, now_ns);
    t->ended = true; /* if it stops after this, it is only let go */
}

void tick_conclude(struct sampler *s)
{
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_threads; j++) {
            struct thread *t = s->processes[i]->threads[j];
            if (pending_read(s, t)) {
                stop_requests_forget(s, t);
            }
            if (!t->pending && t->registered) /* at once: others may take a second to stop */
                close_task(s, t);
        }
}

void tick_close(struct sampler *s)
{
    for (uint32_t i = 0; i < s->n_processes; i++)
        left_alone_end(s, s->processes[i], clock_now_ns());
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_threads; j++) {
            struct thread *t = s->processes[i]->threads[j];
            counters_add(&s->counters, COUNT_NEVER_SAMPLED, !t->registered);
            if (t->registered && !t->ended)
                close_task(s, t);
        }
}
