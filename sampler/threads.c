/* Threads and processes as they come and go: births, ends, zombies, execve, and which are wanted. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sampler/capture.h"
#include "sampler/look.h"
#include "sampler/priority.h"
#include "sampler/space_lock.h"
#include "sampler/state.h"

enum {
    LIST_DRAIN_EVERY = 16,
    FILTER_AT_LEAST = 8,
    HOOK_CALLS = 64,  /* in one tick: with as many thread states as that takes, some 2 ms */
    PF_EXITING = 0x4, /* include/linux/sched.h */
    PF_IO_WORKER = 0x10,
};

void threads_end(struct sampler *s, struct task *t)
{
    if (t->met && !t->zombie)
        capture_tell(s, t, MESSAGE_TASK_END, 0, clock_now_ns());
    counters_add(&s->counters, COUNT_NOT_MET, !t->met && t->peeked);
    t->process->lost_one = true;
    process_remove(t->process, t);
    t->ended = true;
    if (!t->pending) {
        task_free(t, &s->files);
        return;
    }
    s->ended = array_reserve(s->ended, &s->ended_capacity, s->n_ended + 1, sizeof *s->ended);
    s->ended[s->n_ended++] = t;
}

void threads_free_ended(struct sampler *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n_ended; i++)
        if (s->ended[i]->pending)
            s->ended[kept++] = s->ended[i];
        else
            task_free(s->ended[i], &s->files);
    s->n_ended = kept;
}

/* P is another program now, or gone: the tids of those that ended with a stop pending may never be heard of again. */
static void forget_ended(struct sampler *s, const struct process *p)
{
    for (size_t i = 0; i < s->n_ended; i++) {
        struct task *t = s->ended[i];
        if (t->process == p && t->pending)
            tracer_forget(s->tracer, t->tid);
        t->pending = t->pending && t->process != p;
    }
}

struct listing {
    struct sampler *sampler;
    struct process *process;
    uint32_t n;
};

void threads_zombie(struct sampler *s, struct task *t)
{
    if (t->zombie)
        return;
    if (t->met)
        capture_tell(s, t, MESSAGE_TASK_END, 0, clock_now_ns());
    t->zombie = true;
    if (t->pending)
        tracer_forget(s->tracer, t->tid);
    t->pending = false;
}

char threads_state(const struct task *t)
{
    char text[PROC_TEXT_BYTES];
    struct task_stat stat;
    ssize_t len = proc_read_text(t->process->pid, t->tid, "stat", text, sizeof text);
    if (len <= 0 || task_stat_parse(text, (size_t)len, &stat) < 0)
        return '\0';
    return stat.state;
}

int threads_look_at(struct sampler *s, struct task *t)
{
    char text[PROC_TEXT_BYTES];
    struct task_stat stat;
    struct task_status status;
    ssize_t len = proc_read_text(t->process->pid, t->tid, "stat", text, sizeof text);
    if (len == -ESRCH || len == -ENOENT)
        return 0;
    if (len < 0 || task_stat_parse(text, (size_t)len, &stat) < 0) {
        counters_add(&s->counters, COUNT_UNREADABLE, 1);
        return -EAGAIN;
    }
    memcpy(t->comm, stat.comm, sizeof t->comm);
    t->io_worker = (stat.flags & PF_IO_WORKER) != 0;
    if (look_status(s, t, &status) == 0 && status.ns_tid > 0)
        t->ns_tid = status.ns_tid;
    bool ends = stat.state == 'Z' || stat.state == 'X' || stat.flags & PF_EXITING;
    return ends ? 0 : stat.state;
}

/* A name that cannot be read just now is what it was. */
static void ask_python(const struct sampler *s, struct task *t, const struct capture_hook *hook,
                       struct thread_facts *facts)
{
    struct text name = {0};
    if (hook->name(hook->ctx, t->ns_tid, &name)) {
        facts->python_name = name.s;
        t->wanted_by_python = thread_filter_wants(&s->config.filter, facts);
    }
    text_release(&name);
}

static void apply_filter(struct sampler *s, struct task *t)
{
    if (!s->config.filter.n)
        return;
    const struct capture_hook *hook = process_hook(t->process);
    struct thread_facts facts = {t->process->pid, t->tid, t->comm, false, NULL};
    facts.python = hook && hook->is_python(hook->ctx, t->ns_tid);
    bool wanted = thread_filter_wants(&s->config.filter, &facts);
    if (!wanted && facts.python) /* that takes 20 to 60 µs */
        ask_python(s, t, hook, &facts);
    t->filtered = !wanted && !(facts.python && t->wanted_by_python);
}

/* Names and kinds of threads change, mostly shortly after their birth.  To look at one takes some 30 µs, so where there
 * are many each is looked at ever more seldom. */
static bool filter_is_due(struct task *t, int64_t now_ns)
{
    enum { FIRST_WAIT_NS = 10 * NS_PER_MS, MOST_NS = 4 * NS_PER_MS /* times the threads */ };
    int64_t most_ns = (int64_t)t->process->n_tasks * MOST_NS;
    if (now_ns < t->filter_not_before_ns)
        return false;
    t->filter_wait_ns = 2 * t->filter_wait_ns + FIRST_WAIT_NS;
    if (t->filter_wait_ns > most_ns)
        t->filter_wait_ns = most_ns;
    t->filter_not_before_ns = now_ns + t->filter_wait_ns;
    return true;
}

static void filter_again(struct sampler *s, struct task *t)
{
    bool was = t->filtered;
    int64_t now_ns = clock_now_ns();
    if (!t->met || t->zombie || !filter_is_due(t, now_ns) || threads_look_at(s, t) <= 0)
        return;
    apply_filter(s, t);
    if (was != t->filtered) {
        t->until_ns = was ? now_ns : t->until_ns;
        capture_tell(s, t, was ? MESSAGE_TASK_NEW : MESSAGE_TASK_END, 0, now_ns);
        t->repeatable = false; /* what was sampled before belongs to a time line that has ended */
        t->stopped_runs = 0;
    }
    if (tracer_pending(s->tracer))
        tracer_reap(s->tracer);
}

/* For half an interval, but some in any case; the next listing goes on where this one ends. */
static void filter_all_again(struct sampler *s, struct process *p)
{
    int64_t end_ns = s->config.single_shot ? INT64_MAX : clock_now_ns() + s->interval_ns / 2;
    for (size_t i = 0; i < p->n_tasks && (i < FILTER_AT_LEAST || clock_now_ns() < end_ns); i++)
        filter_again(s, p->tasks[p->filter_at++ % p->n_tasks]);
}

static void see(void *ctx, pid_t tid)
{
    struct listing *listing = ctx;
    struct sampler *s = listing->sampler;
    struct task *t = process_task(listing->process, tid);
    if (!t) {
        t = task_new(listing->process, ++s->last_task, tid);
        process_add(listing->process, t);
        listing->process->stack_maps.stale = true;
    }
    t->seen = true;
    if (++listing->n % LIST_DRAIN_EVERY == 0 && tracer_pending(s->tracer))
        tracer_reap(s->tracer);
}

void threads_meet(struct sampler *s, struct task *t)
{
    int alive = threads_look_at(s, t);
    if (alive < 0) /* at the next tick */
        return;
    t->met = true;
    t->until_ns = clock_now_ns();
    t->zombie = alive == 0;
    priority_check(t->tid);
    apply_filter(s, t);
    if (!t->filtered && !t->zombie)
        capture_tell(s, t, MESSAGE_TASK_NEW, 0, t->until_ns);
}

/* A thread that ends while the kernel lists up to it makes it leave out one that lives (next_tid() and first_tid() of
 * fs/proc/base.c go on by number): those are met, or seen, at the next listing. */
static bool has_ended(struct sampler *s, struct task *t)
{
    return look_counts(s, t, &(struct schedstat){0}) == -ESRCH;
}

/* LISTED: how that went; -ESRCH: P is gone. */
static void end_unseen(struct sampler *s, struct process *p, int listed)
{
    p->any_unwatched = s->config.filter.n > 0;
    for (size_t i = p->n_tasks; i-- > 0;) {
        struct task *t = p->tasks[i];
        p->any_unwatched |= !t->met || t->zombie;
        bool ended = !t->seen && (listed == -ESRCH || (listed == 0 && has_ended(s, t)));
        p->list_again |= !t->seen && !ended;
        t->seen = false;
        if (ended)
            threads_end(s, t);
    }
}

/* Each is looked at again: a thread that calls execve takes the tid of a main thread that ended. */
static bool all_zombies(struct sampler *s, const struct process *p)
{
    for (size_t i = 0; i < p->n_tasks; i++)
        if (!p->tasks[i]->zombie || threads_look_at(s, p->tasks[i]) != 0)
            return false;
    return true;
}

void threads_list(struct sampler *s, struct process *p, bool gone)
{
    struct listing listing = {s, p, 0};
    process_begin_listing(p, clock_now_ns());
    /* Gone: whatever has its pid now is another. */
    int r = gone ? -ESRCH : proc_each_task(p->pid, see, &listing);
    if (r < 0 && process_is_zombie(p))
        r = -ESRCH;
    bool failed = r < 0 && r != -ESRCH;
    counters_add(&s->counters, COUNT_UNREADABLE, failed);
    end_unseen(s, p, r);
    stack_area_refresh(p);
    if (s->config.filter.n)
        filter_all_again(s, p);
    if (r == -ESRCH || (!failed && all_zombies(s, p))) {
        p->ended = true;
        forget_ended(s, p);
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
        threads_end(s, t);
    }
    forget_ended(s, p);
    stack_maps_forget(&p->stack_maps);
    tracer_expect(s->tracer, p->pid);
    p->untold_exec_ns = clock_now_ns();
}

/* Without the message the worker would take the new program's addresses for the old one's: until the
 * ring has room for it no thread of the new program is listed.  Returns whether the worker knows. */
static bool exec_is_known(struct sampler *s, struct process *p)
{
    struct task none = {.process = p, .tid = p->pid};
    if (p->untold_exec_ns && capture_tell(s, &none, MESSAGE_EXEC, 0, p->untold_exec_ns))
        p->untold_exec_ns = 0;
    return !p->untold_exec_ns;
}

/* A hook with much to do goes on at the next tick; the one of a single shot cannot wait. */
static void tell_hook(struct sampler *s, struct process *p)
{
    const struct capture_hook *hook = process_hook(p);
    bool more = hook != NULL;
    for (int i = 0; more && (i < HOOK_CALLS || s->config.single_shot); i++) {
        more = hook->tick(hook->ctx, p->live);
        if (more && tracer_pending(s->tracer))
            tracer_reap(s->tracer);
    }
    p->told_hook = hook;
}

bool threads_prepare(struct sampler *s, struct process *p)
{
    struct space_watch watch = space_watch_begin(s);
    struct process_news news = process_news(p);
    space_watch_end(s, p, &watch);
    struct task *main = news.main_ended ? process_task(p, p->pid) : NULL;
    bool due = news.gone;
    if (news.execed) {
        handle_exec(s, p);
    } else if (main && !main->zombie) {
        threads_zombie(s, main);
        due = true;
    }
    if (!news.gone && !exec_is_known(s, p))
        return false;
    due = due || process_wants_listing(p, clock_now_ns());
    if (due)
        threads_list(s, p, news.gone);
    if (!p->ended)
        tell_hook(s, p);
    return due;
}
