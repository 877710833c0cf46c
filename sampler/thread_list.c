/* Threads and processes as they come and go: births, ends, zombies, execve, and --thread. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sampler/capture.h"
#include "sampler/lock_watch.h"
#include "sampler/priority.h"
#include "sampler/space_lock.h"
#include "sampler/state.h"
#include "sampler/stop_requests.h"
#include "sampler/thread_files.h"

enum {
    LIST_DRAIN_EVERY = 16,
    FILTER_AT_LEAST = 8,
    HOOK_CALLS = 64, /* in one tick: 2 ms, where thread states take as many */
};

void thread_list_end(struct sampler *s, struct thread *t)
{
    if (t->registered && !t->zombie)
        capture_emit(s, t, MESSAGE_THREAD_END, 0, clock_now_ns());
    counters_add(&s->counters, COUNT_NEVER_SAMPLED, !t->registered && t->state_checked);
    lock_watch_leave(t);
    t->process->lost_thread = true;
    process_remove(t->process, t);
    t->ended = true;
    if (!t->pending) {
        thread_free(t, &s->files);
        return;
    }
    s->ended = array_reserve(s->ended, &s->ended_capacity, s->n_ended + 1, sizeof *s->ended);
    s->ended[s->n_ended++] = t;
}

void thread_list_free_ended(struct sampler *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n_ended; i++)
        if (s->ended[i]->pending)
            s->ended[kept++] = s->ended[i];
        else
            thread_free(s->ended[i], &s->files);
    s->n_ended = kept;
}

/* P runs another program, or is gone.  waitpid(2) may never report its threads that ended while a
 * stop was pending. */
static void forget_ended(struct sampler *s, const struct process *p)
{
    for (size_t i = 0; i < s->n_ended; i++) {
        struct thread *t = s->ended[i];
        if (t->process == p)
            stop_requests_forget(s, t);
    }
}

struct task_listing {
    struct sampler *sampler;
    struct process *process;
    uint32_t n;
};

void thread_list_zombie(struct sampler *s, struct thread *t)
{
    if (t->zombie)
        return;
    if (t->registered)
        capture_emit(s, t, MESSAGE_THREAD_END, 0, clock_now_ns());
    t->zombie = true;
    lock_watch_leave(t);
    stop_requests_forget(s, t);
}

/* Where the name cannot be read just now, T stays as wanted as it was. */
static void ask_python(const struct sampler *s, struct thread *t, const struct capture_hook *hook,
                       struct thread_facts *facts)
{
    struct text name = {0};
    if (hook->name(hook->ctx, t->ns_tid, &name)) {
        facts->python_name = name.s;
        t->wanted_by_python = thread_filter_wants(&s->config.filter, facts);
    }
    text_release(&name);
}

static void apply_filter(struct sampler *s, struct thread *t)
{
    if (!s->config.filter.n)
        return;
    const struct capture_hook *hook = process_hook(t->process);
    struct thread_facts facts = {t->process->pid, t->tid, t->comm, false, NULL};
    facts.python = hook && hook->is_python(hook->ctx, t->ns_tid);
    bool wanted = thread_filter_wants(&s->config.filter, &facts);
    if (!wanted && facts.python) /* takes 20 to 60 µs */
        ask_python(s, t, hook, &facts);
    t->filtered = !wanted && !(facts.python && t->wanted_by_python);
}

/* Names and kinds of threads change, mostly shortly after their birth.  To read those of one takes
 * some 30 µs, so each is read ever more seldom, down to once in MOST_NS times the threads. */
static bool filter_is_due(struct thread *t, int64_t now_ns)
{
    enum { FIRST_WAIT_NS = 10 * NS_PER_MS, MOST_NS = 4 * NS_PER_MS /* times the threads */ };
    int64_t most_ns = (int64_t)t->process->n_threads * MOST_NS;
    if (now_ns < t->filter_not_before_ns)
        return false;
    t->filter_wait_ns = 2 * t->filter_wait_ns + FIRST_WAIT_NS;
    if (t->filter_wait_ns > most_ns)
        t->filter_wait_ns = most_ns;
    t->filter_not_before_ns = now_ns + t->filter_wait_ns;
    return true;
}

static void filter_again(struct sampler *s, struct thread *t)
{
    bool was = t->filtered;
    int64_t now_ns = clock_now_ns();
    if (!t->registered || t->zombie || !filter_is_due(t, now_ns) || thread_read_stat(s, t) <= 0)
        return;
    apply_filter(s, t);
    if (was != t->filtered) {
        claim_extend(t, was ? now_ns : t->until_ns, 0);
        t->born = false;
        capture_emit(s, t, was ? MESSAGE_THREAD_NEW : MESSAGE_THREAD_END, 0, now_ns);
        claim_drop_all(t); /* its samples so far belong to a time line that has ended */
    }
    if (tracer_pending(s->tracer))
        tracer_reap(s->tracer);
}

/* For half an interval, but for some threads in any case; the next listing goes on from there. */
static void filter_all_again(struct sampler *s, struct process *p)
{
    int64_t end_ns = s->config.single_shot ? INT64_MAX : clock_now_ns() + s->interval_ns / 2;
    for (size_t i = 0; i < p->n_threads && (i < FILTER_AT_LEAST || clock_now_ns() < end_ns); i++)
        filter_again(s, p->threads[p->filter_at++ % p->n_threads]);
}

static void note_listed(void *ctx, pid_t tid)
{
    struct task_listing *listing = ctx;
    struct sampler *s = listing->sampler;
    struct thread *t = process_thread(listing->process, tid);
    if (!t) {
        t = thread_new(listing->process, ++s->last_thread_id, tid);
        process_add(listing->process, t);
        listing->process->stack_maps.stale = true;
    }
    t->listed = true;
    if (++listing->n % LIST_DRAIN_EVERY == 0 && tracer_pending(s->tracer))
        tracer_reap(s->tracer);
}

void thread_list_register(struct sampler *s, struct thread *t)
{
    int alive = thread_read_stat(s, t);
    if (alive < 0) /* again at the next tick */
        return;
    t->registered = true;
    claim_extend(t, clock_now_ns(), 0);
    t->zombie = alive == 0;
    t->born = t->start_ticks > s->start_ticks;
    /* It ended right after its listing.  A main thread may have ended long before the others. */
    counters_add(&s->counters, COUNT_NEVER_SAMPLED, t->zombie && t->tid != t->process->pid);
    priority_check(t->tid);
    apply_filter(s, t);
    if (!t->filtered && !t->zombie)
        capture_emit(s, t, MESSAGE_THREAD_NEW, 0, t->until_ns);
}

/* Where a thread ends while the kernel lists, the kernel may leave out another that lives
 * (next_tid() and first_tid() of fs/proc/base.c go on by number).  The next listing has it. */
static bool has_ended(struct sampler *s, struct thread *t)
{
    return thread_read_schedstat(s, t, &(struct schedstat){0}) == -ESRCH;
}

/* LISTED: the result of the listing; -ESRCH: P is gone. */
static void end_unlisted(struct sampler *s, struct process *p, int listed)
{
    p->any_unwatched = s->config.filter.n > 0;
    for (size_t i = p->n_threads; i-- > 0;) {
        struct thread *t = p->threads[i];
        p->any_unwatched |= !t->registered || t->zombie;
        bool ended = !t->listed && (listed == -ESRCH || (listed == 0 && has_ended(s, t)));
        p->list_again |= !t->listed && !ended;
        t->listed = false;
        if (ended)
            thread_list_end(s, t);
    }
}

/* Each is read again: a thread that calls execve takes the tid of a main thread that ended. */
static bool all_zombies(struct sampler *s, const struct process *p)
{
    for (size_t i = 0; i < p->n_threads; i++)
        if (!p->threads[i]->zombie || thread_read_stat(s, p->threads[i]) != 0)
            return false;
    return true;
}

void thread_list_read(struct sampler *s, struct process *p, bool gone)
{
    struct task_listing listing = {s, p, 0};
    int64_t begun_ns = clock_cpu_ns();
    process_begin_listing(p, clock_now_ns());
    /* Gone: another process may have its pid. */
    int r = gone ? -ESRCH : proc_each_task(p->pid, note_listed, &listing);
    if (r < 0 && process_is_zombie(p))
        r = -ESRCH;
    if (r == -ESRCH && !gone && !process_has_ended(p)) /* proc(5), hidepid: it is hidden now */
        r = -EPERM;
    bool failed = r < 0 && r != -ESRCH;
    counters_add(&s->counters, COUNT_UNREADABLE, failed);
    if (r == 0)
        process_end_listing(p, listing.n);
    end_unlisted(s, p, r);
    p->listing_ns = clock_cpu_ns() - begun_ns;
    stack_area_refresh(p);
    if (s->config.filter.n)
        filter_all_again(s, p);
    if (r == -ESRCH || (!failed && all_zombies(s, p))) {
        p->ended = true;
        forget_ended(s, p);
        (void)process_table_report_end(s, p);
    }
}

/* P runs another program.  Its threads are gone but the one that called execve, which has the tid
 * of the process now, whichever it had.  No earlier request to stop counts. */
static void handle_exec(struct sampler *s, struct process *p)
{
    atomic_store_explicit(&p->hook, NULL, memory_order_release);
    for (size_t i = p->n_threads; i-- > 0;) {
        struct thread *t = p->threads[i];
        stop_requests_forget(s, t);
        thread_list_end(s, t);
    }
    forget_ended(s, p);
    stack_maps_forget(&p->stack_maps);
    tracer_expect(s->tracer, p->pid);
    p->exec_to_report_ns = clock_now_ns();
}

/* Without the message the worker would take the new program's addresses for the old one's.  So no
 * thread of the new program is listed until the ring has room for it.  Returns whether it had. */
static bool report_exec(struct sampler *s, struct process *p)
{
    if (p->exec_to_report_ns && capture_emit_process(s, p, MESSAGE_EXEC, p->exec_to_report_ns))
        p->exec_to_report_ns = 0;
    return !p->exec_to_report_ns;
}

void thread_list_run_hook(struct sampler *s, struct process *p)
{
    const struct capture_hook *hook = process_hook(p);
    bool more = hook != NULL && !p->ended;
    for (int i = 0; more && (i < HOOK_CALLS || s->config.single_shot); i++) {
        more = hook->tick(hook->ctx, p->live);
        if (more && tracer_pending(s->tracer))
            tracer_reap(s->tracer);
    }
    p->ticked_hook = hook;
}

bool thread_list_update(struct sampler *s, struct process *p, bool locked)
{
    struct space_watch watch = space_watch_begin(s);
    struct process_changes changes = process_poll(p, locked);
    space_watch_end(s, p, &watch);
    struct thread *main = changes.main_ended ? process_thread(p, p->pid) : NULL;
    bool due = changes.gone;
    if (changes.execed) {
        handle_exec(s, p);
    } else if (main && !main->zombie) {
        thread_list_zombie(s, main);
        due = true;
    }
    if (!changes.gone && !report_exec(s, p))
        return false;
    due = due || process_wants_listing(p, clock_now_ns());
    if (due)
        thread_list_read(s, p, changes.gone);
    return due;
}
