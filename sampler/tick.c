/* What is done with each thread at a tick (docs/sampling.md): repeat what has not run, read what is
 * off the CPU without a stop, ask what runs to stop, and hold it for the time of one capture. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sampler/state.h"
#include "target/syscalls.h"

enum {
    POLL_NS = 20 * NS_PER_US,  /* a thread that runs stops within 8.5 µs, p90 13 µs */
    FREEZE_NS = 5 * NS_PER_MS, /* --freeze: all let go after that, whether complete or not */
    SWITCH_NS = 8 * NS_PER_US, /* a stop with nothing in it, as the thread sees it: 8 to 10 µs */
    MAX_BACKOFF_NS = NS_PER_S, /* the progress rule's longest gap */
    LIST_DRAIN_EVERY = 16,
    PF_IO_WORKER = 0x10, /* include/linux/sched.h */
};

static void end_task(struct sampler *s, struct task *t)
{
    if (!t->zombie)
        capture_tell(s, t, MESSAGE_TASK_END, 0, clock_now_ns());
    process_remove(t->process, t);
    t->ended = true;
    if (!t->pending) {
        task_free(t, &s->files);
        return;
    }
    s->ended = array_reserve(s->ended, &s->ended_capacity, s->n_ended + 1, sizeof *s->ended);
    s->ended[s->n_ended++] = t;
}

/* Threads that ended while a stop was asked of them, once the tracer has done with them. */
static void free_ended(struct sampler *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n_ended; i++)
        if (s->ended[i]->pending)
            s->ended[kept++] = s->ended[i];
        else
            task_free(s->ended[i], &s->files);
    s->n_ended = kept;
}

/* ---- the tracer's handler ---- */

bool tick_stopped(void *sampler, const struct stop *stop)
{
    struct sampler *s = sampler;
    struct task *t = (struct task *)(uintptr_t)stop->tag;
    if (t->ended)
        return true;
    capture_held(s, t, stop);
    counters_add(&s->counters, COUNT_REPAIRED_CALLS, stop->repaired);
    counters_add(&s->counters, COUNT_PERTURBED_CALLS, stop->perturbed);
    /* Some kernels undo a long call at every interruption: leave it alone longer each time. */
    if (stop->restarting) {
        int64_t most = MAX_BACKOFF_NS / s->interval_ns;
        t->backoff = t->backoff ? t->backoff * 2 : 2;
        if (t->backoff > most)
            t->backoff = (uint32_t)most;
        t->stop_not_before_ns = stop->stopped_ns + t->backoff * s->interval_ns;
    } else {
        t->backoff = 0;
    }
    if (!s->config.freeze)
        return true;
    if (!s->freeze_end_ns)
        s->freeze_end_ns = stop->stopped_ns + FREEZE_NS;
    return stop->stopped_ns >= s->freeze_end_ns;
}

void tick_released(void *sampler, uint64_t tag, uint32_t held_ns)
{
    struct sampler *s = sampler;
    struct task *t = (struct task *)(uintptr_t)tag;
    held_ns += SWITCH_NS;
    counters_add_hold(&s->counters, held_ns);
    t->held_ns += held_ns;
    t->window_held_ns += held_ns;
    t->pending = false;
}

void tick_gone(void *sampler, uint64_t tag)
{
    (void)sampler;
    ((struct task *)(uintptr_t)tag)->pending = false;
}

/* ---- threads come and go ---- */

struct listing {
    struct sampler *sampler;
    struct process *process;
    uint32_t n;
};

/* It ended, but stays listed until its process has, or until whoever traces it has reaped it. */
static void now_zombie(struct sampler *s, struct task *t)
{
    if (t->zombie)
        return;
    capture_tell(s, t, MESSAGE_TASK_END, 0, clock_now_ns());
    t->zombie = true;
    if (t->pending)
        tracer_forget(s->tracer, t->tid);
    t->pending = false;
}

/* Reads what it is.  Returns whether it lives. */
static bool look_at(struct sampler *s, struct task *t)
{
    char text[PROC_TEXT_BYTES];
    struct task_stat stat;
    struct task_status status;
    ssize_t len = proc_read_text(t->process->pid, t->tid, "stat", text, sizeof text);
    if (len < 0 || task_stat_parse(text, (size_t)len, &stat) < 0)
        return false;
    memcpy(t->comm, stat.comm, sizeof t->comm);
    t->io_worker = (stat.flags & PF_IO_WORKER) != 0;
    int fd = capture_fd(s, t, TASK_STATUS);
    if (fd >= 0 && task_status_read(fd, &status) == 0 && status.ns_tid > 0)
        t->ns_tid = status.ns_tid;
    return stat.state != 'Z' && stat.state != 'X';
}

static void apply_filter(struct sampler *s, struct task *t)
{
    if (!s->config.filter.n)
        return;
    const struct capture_hook *hook = atomic_load_explicit(&t->process->hook, memory_order_acquire);
    struct thread_facts facts = {t->process->pid, t->tid, t->comm, false};
    facts.python = hook && hook->is_python(hook->ctx, t->ns_tid);
    t->filtered = !thread_filter_wants(&s->config.filter, &facts);
}

static void see(void *ctx, pid_t tid)
{
    struct listing *listing = ctx;
    struct sampler *s = listing->sampler;
    struct task *t = process_task(listing->process, tid);
    if (!t) {
        t = task_new(listing->process, ++s->last_task, tid);
        t->until_ns = clock_now_ns();
        t->zombie = !look_at(s, t);
        process_add(listing->process, t);
        apply_filter(s, t);
        if (!t->filtered && !t->zombie)
            capture_tell(s, t, MESSAGE_TASK_NEW, 0, t->until_ns);
    }
    t->seen = true;
    if (++listing->n % LIST_DRAIN_EVERY == 0 && tracer_pending(s->tracer))
        tracer_reap(s->tracer);
}

static void end_unseen(struct sampler *s, struct process *p)
{
    for (size_t i = p->n_tasks; i-- > 0;) {
        struct task *t = p->tasks[i];
        if (!t->seen)
            end_task(s, t);
        else
            t->seen = false;
    }
}

/* Each is looked at again: a thread that calls execve takes the tid of a main thread that ended. */
static bool all_zombies(struct sampler *s, const struct process *p)
{
    for (size_t i = 0; i < p->n_tasks; i++)
        if (!p->tasks[i]->zombie || look_at(s, p->tasks[i]))
            return false;
    return true;
}

/* Names and kinds of threads change shortly after their birth: filters are asked again. */
static void list_threads(struct sampler *s, struct process *p, bool gone)
{
    struct listing listing = {s, p, 0};
    /* Gone: whatever has its pid now is another. */
    int r = gone ? -ESRCH : proc_each_task(p->pid, see, &listing);
    end_unseen(s, p);
    for (size_t i = 0; i < p->n_tasks && s->config.filter.n; i++) {
        bool was = p->tasks[i]->filtered;
        struct task *t = p->tasks[i];
        if (t->zombie || !look_at(s, t))
            continue;
        apply_filter(s, t);
        if (was != t->filtered)
            capture_tell(s, t, was ? MESSAGE_TASK_NEW : MESSAGE_TASK_END, 0, clock_now_ns());
    }
    if (r == -ESRCH || all_zombies(s, p)) {
        p->ended = true;
        struct task none = {.process = p, .tid = p->pid};
        capture_tell(s, &none, MESSAGE_PROCESS_END, 0, clock_now_ns());
    }
}

/* The program is another now.  Its other threads are gone; the one that called execve has the tid
 * of the process, whichever it was, so no request of before is good any more. */
static void handle_exec(struct sampler *s, struct process *p)
{
    atomic_store_explicit(&p->hook, NULL, memory_order_release);
    for (size_t i = p->n_tasks; i-- > 0;) {
        struct task *t = p->tasks[i];
        if (t->pending)
            tracer_forget(s->tracer, t->tid);
        t->pending = false;
        end_task(s, t);
    }
    struct task none = {.process = p, .tid = p->pid};
    capture_tell(s, &none, MESSAGE_EXEC, 0, clock_now_ns());
}

/* ---- one thread ---- */

/* Which of the two a thread that can run does.  Its run count is one ahead of its switches while it
 * is on a CPU: the kernel counts an arrival when it is switched in and a switch when it is switched
 * out. */
static enum thread_state running_or_waiting(struct sampler *s, struct task *t)
{
    struct task_status status;
    struct schedstat after;
    int fd = capture_fd(s, t, TASK_STATUS);
    if (!s->can.schedstat || fd < 0 || task_status_read(fd, &status) < 0 ||
        capture_counts(s, t, &after) < 0 || after.runs != t->sched.runs)
        return THREAD_RUNNING_OR_RUNNABLE;
    int64_t ahead = (int64_t)(after.runs - status.voluntary - status.involuntary);
    if (ahead < t->switch_base) /* an arrival was missed: it happens to some tasks now and then */
        t->switch_base = ahead;
    if (ahead == t->switch_base)
        return THREAD_RUNNABLE;
    return ahead == t->switch_base + 1 ? THREAD_RUNNING : THREAD_RUNNING_OR_RUNNABLE;
}

static void queue_stop(struct sampler *s, struct task *t, int64_t now_ns)
{
    if (now_ns < t->stop_not_before_ns) {
        counters_add(&s->counters, COUNT_BACKED_OFF, 1);
        return;
    }
    s->running =
        array_reserve(s->running, &s->running_capacity, s->n_running + 1, sizeof *s->running);
    s->running[s->n_running++] = t;
}

static void visit_off_cpu(struct sampler *s, struct task *t, struct syscall_state *view,
                          int64_t now_ns)
{
    int r = capture_off_cpu(s, t, view);
    if (r == -ESRCH)
        end_task(s, t);
    else if (r == -EAGAIN) {
        t->requested_state = running_or_waiting(s, t);
        queue_stop(s, t, now_ns);
    }
}

/* It has no user stack, and does not stop. */
static void visit_io_worker(struct sampler *s, struct task *t, const struct syscall_state *view,
                            int64_t now_ns)
{
    bool blocked = view->view == SYSCALL_BLOCKED;
    t->state = blocked ? THREAD_BLOCKED : running_or_waiting(s, t);
    capture_tell(s, t, MESSAGE_SAMPLE, SAMPLE_NO_STACK | SAMPLE_IO_WORKER, now_ns);
    t->repeatable = blocked && s->can.schedstat;
    t->sampled_runs = t->sched.runs;
}

static void repeat(struct sampler *s, struct task *t, int64_t now_ns)
{
    t->until_ns = now_ns;
    t->repeats++;
    counters_add(&s->counters, COUNT_REPEATS, 1);
}

/* Did the last sample not have all that the worker needed? */
static bool needs_more(const struct sampler *s, const struct task *t)
{
    return (t->stack_cut && feedback_stack(&s->feedback, t->id) > t->stack_bytes) ||
           feedback_wants_registers(&s->feedback, t->id, t->sampled_runs);
}

/* Is its last sample still what it does? */
static bool still_there(const struct sampler *s, const struct task *t)
{
    return t->repeatable && t->sched.runs == t->sampled_runs && !needs_more(s, t);
}

/* The worker found that a stack cannot be unwound from sp alone: one stop, if the call does not
 * mind. */
static bool stop_for_registers(struct sampler *s, struct task *t, const struct syscall_state *view,
                               int64_t now_ns)
{
    bool harmless = view->number < 0 || syscall_restarts_cleanly(view->number);
    if (s->config.no_stop || !harmless || now_ns < t->stop_not_before_ns ||
        !feedback_wants_registers(&s->feedback, t->id, t->sched.runs))
        return false;
    counters_add(&s->counters, COUNT_REGISTERS_WANTED, 1);
    feedback_want_registers(&s->feedback, t->id, 0);
    t->requested_state = THREAD_BLOCKED;
    queue_stop(s, t, now_ns);
    return true;
}

/* --freeze holds blocked threads too, where the program will not notice. */
static bool freeze_blocked(struct sampler *s, struct task *t, const struct syscall_state *view,
                           int64_t now_ns)
{
    if (!s->config.freeze || !syscall_restarts_cleanly(view->number))
        return false;
    t->requested_state = THREAD_BLOCKED;
    queue_stop(s, t, now_ns);
    return true;
}

/* It was asked to stop at an earlier tick.  Until it has run again it has been waiting for a CPU.
 */
static void visit_pending(struct sampler *s, struct task *t)
{
    counters_add(&s->counters, COUNT_PENDING_TICKS, 1);
    if (t->sched.runs == t->requested_runs)
        t->pending_repeats++;
}

/* VIEW: where it is now. */
static void visit_viewed(struct sampler *s, struct task *t, struct syscall_state *view,
                         int64_t now_ns)
{
    bool blocked = view->view == SYSCALL_BLOCKED;
    if (t->io_worker) {
        visit_io_worker(s, t, view, now_ns);
    } else if (blocked && !view->sp && !look_at(s, t)) {
        now_zombie(s, t); /* of somebody else's tracee */
    } else if (capture_resumed(t, view)) {
        t->repeatable = true;
        t->sampled_runs = t->sched.runs;
        repeat(s, t, now_ns);
    } else if (!blocked) {
        t->requested_state = running_or_waiting(s, t);
        queue_stop(s, t, now_ns);
    } else if (!stop_for_registers(s, t, view, now_ns) && !freeze_blocked(s, t, view, now_ns)) {
        visit_off_cpu(s, t, view, now_ns);
    }
}

static void visit(struct sampler *s, struct task *t)
{
    struct syscall_state view;
    int64_t now_ns = clock_now_ns();
    if (t->zombie || t->filtered)
        return;
    if (s->config.single_shot && t->sampled && !needs_more(s, t))
        return;
    int r = capture_counts(s, t, &t->sched);
    if (r == -ESRCH) {
        if (!t->pending) /* else its end comes from the tracer, or with the next listing */
            end_task(s, t);
        return;
    }
    if (t->pending) {
        visit_pending(s, t);
        return;
    }
    if (r == 0 && still_there(s, t)) {
        repeat(s, t, now_ns);
        return;
    }
    t->repeatable = false;
    r = capture_view(s, t, &view);
    if (r == -ESRCH)
        end_task(s, t);
    else if (r == -EPERM)
        capture_tell(s, t, MESSAGE_SAMPLE, SAMPLE_NO_STACK, now_ns);
    else if (r == 0)
        visit_viewed(s, t, &view, now_ns);
}

/* ---- stops ---- */

static void refused(struct sampler *s, struct task *t, int error, int64_t now_ns)
{
    t->pending = false;
    if (error == -ESRCH)
        return;         /* the next tick sees it gone */
    if (!look_at(s, t)) /* it was about to end */
        return;
    counters_add(&s->counters, COUNT_REFUSED, 1);
    t->state = t->requested_state;
    capture_tell(s, t, MESSAGE_SAMPLE, SAMPLE_NO_STACK | SAMPLE_TRACED, now_ns);
}

static void request_stop(struct sampler *s, struct task *t)
{
    int64_t now_ns = clock_now_ns();
    if (s->config.no_stop) {
        capture_not_held(s, t, now_ns);
        return;
    }
    capture_prepare(s, t);
    t->requested_ns = now_ns;
    t->requested_runs = t->sched.runs;
    t->pending_repeats = 0;
    t->pending = true;
    counters_add(&s->counters, COUNT_STOP_REQUESTS, 1);
    int r = tracer_request(s->tracer, t->tid, (uint64_t)(uintptr_t)t);
    if (r < 0)
        refused(s, t, r, now_ns);
    else if (!s->config.freeze && t->requested_state != THREAD_RUNNABLE)
        (void)tracer_poll(s->tracer, t->tid, POLL_NS);
}

bool tick_thaw(struct sampler *s)
{
    if (!s->freeze_end_ns || clock_now_ns() < s->freeze_end_ns)
        return false;
    tracer_release_held(s->tracer);
    return true;
}

/* Those on a CPU first: they stop at once and can be let go before the next is asked. */
static void request_stops(struct sampler *s)
{
    for (int waiting = 0; waiting < 2; waiting++)
        for (size_t i = 0; i < s->n_running; i++)
            if ((s->running[i]->requested_state == THREAD_RUNNABLE) == (waiting == 1) &&
                !tick_thaw(s)) {
                request_stop(s, s->running[i]);
                tracer_reap(s->tracer);
            }
    s->n_running = 0;
}

/* ---- the tick ---- */

/* Returns whether a thread was found to have ended. */
static bool visit_process(struct sampler *s, struct process *p)
{
    size_t before = p->n_tasks;
    for (size_t i = 0; i < p->n_tasks;) {
        struct task *t = p->tasks[i];
        visit(s, t);
        if (tracer_pending(s->tracer))
            tracer_reap(s->tracer);
        i += i < p->n_tasks && p->tasks[i] == t; /* else it ended, and another has its place */
    }
    return p->n_tasks < before;
}

static void prepare_process(struct sampler *s, struct process *p)
{
    struct process_news news = process_news(p);
    struct task *main = news.main_ended ? process_task(p, p->pid) : NULL;
    bool lost_one = p->lost_one || news.gone;
    if (news.execed) {
        handle_exec(s, p);
    } else if (main && !main->zombie) {
        now_zombie(s, main);
        lost_one = true;
    }
    if (process_wants_listing(p, lost_one || p->n_tasks == 0, clock_now_ns()))
        list_threads(s, p, news.gone);
    if (p->ended)
        return;
    const struct capture_hook *hook = atomic_load_explicit(&p->hook, memory_order_acquire);
    if (hook)
        hook->tick(hook->ctx, p->live);
}

void tick_run(struct sampler *s)
{
    uint32_t tasks = 0;
    free_ended(s);
    for (uint32_t i = 0; i < s->n_processes; i++) {
        struct process *p = s->processes[i];
        if (p->ended)
            continue;
        prepare_process(s, p);
        p->lost_one = visit_process(s, p);
        request_stops(s);
        tasks += (uint32_t)p->n_tasks;
    }
    atomic_store_explicit(&s->task_count, tasks, memory_order_relaxed);
    counters_add(&s->counters, COUNT_TICKS, 1);
}

void tick_close(struct sampler *s)
{
    int64_t now_ns = clock_now_ns();
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_tasks; j++) {
            struct task *t = s->processes[i]->tasks[j];
            (void)capture_counts(s, t, &t->sched);
            capture_tell(s, t, MESSAGE_TASK_END, TASK_STILL_ALIVE, now_ns);
        }
}
