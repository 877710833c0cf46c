#include "sampler/sampler.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "base/minmax.h"
#include "base/own_stack.h"
#include "base/random.h"
#include "base/text.h"
#include "sampler/left_alone.h"
#include "sampler/on_cpu.h"
#include "sampler/overhead.h"
#include "sampler/pending.h"
#include "sampler/priority.h"
#include "sampler/state.h"
#include "sampler/stop_requests.h"

enum {
    RING_BYTES = 64 << 20,
    MIN_FDS = 32, /* some 16 are open before those of the first thread */
    SLOW_SYSCALL_NS = 500 * NS_PER_US,
    SINGLE_SHOT_NS = 500 * NS_PER_MS, /* for threads that wait for a CPU */
    MAX_SHOTS = 8,                    /* each reads twice as much stack: from 32 KiB to 8 MiB */
    WORKER_NS = 2 * NS_PER_S,         /* the worker may have large files to read first */
    CHECK_NS = 100 * NS_PER_MS,       /* for threads that cannot be let go, where no tick runs */
    PAUSE_NS = 300 * NS_PER_MS,
    SETTLE_NS = NS_PER_S, /* at the end; the longest period of a CPU quota */
    SETTLE_STUCK_NS = 20 * NS_PER_MS /* where a thread stays stopped for as long */,
    SEIZE_NS = 500 * NS_PER_MS, /* an execve takes some ms, a wait for a CPU as long under load */
};

/* ---- set-up ---- */

bool sampler_counts_runs(void)
{
    const char *no = getenv("WALLSPY_NO_SCHEDSTAT");
    int fd = proc_task_open(getpid(), getpid(), "schedstat");
    struct schedstat mine = {0};
    if (fd < 0)
        return false;
    int r = schedstat_read(fd, &mine);
    close(fd);
    return r == 0 && mine.runs > 0 && !(no && str_eq(no, "1"));
}

/* Does the kernel tell what its scheduler knows of a thread?  wallspy's own is read for that. */
static bool sched_is_live(void)
{
    const char *no = getenv("WALLSPY_NO_SCHED");
    struct task_sched mine;
    int fd = proc_task_open(getpid(), getpid(), "sched");
    if (fd < 0)
        return false;
    int r = task_sched_read(fd, &mine);
    close(fd);
    return r == 0 && !(no && str_eq(no, "1"));
}

static int64_t slow_syscall_limit(void)
{
    const char *text = getenv("WALLSPY_SLOW_SYSCALL_US");
    int64_t us = 0;
    return text && parse_whole_i64(text, 0, 1000000, &us) == 0 ? us * NS_PER_US : SLOW_SYSCALL_NS;
}

struct sampler *sampler_new(const struct sampler_config *config)
{
    struct sampler *s = xcalloc(1, sizeof *s);
    s->config = *config;
    s->can = (struct abilities){sampler_counts_runs(), sched_is_live(), slow_syscall_limit()};
    if (!s->can.schedstat)
        log_warn("schedstat", "this kernel does not count how often threads run "
                              "(CONFIG_SCHED_INFO): a thread that waits "
                              "for a CPU is shown as one that runs.");
    s->ring = ring_new(RING_BYTES);
    recorder_init(&s->recorder);
    descriptors_set_limit(descriptors_raise_limit());
    s->interval_ns = (int64_t)((double)NS_PER_S / config->rate_hz);
    s->own_fd = s->own_sched_fd = -1;
    waiters_init(&s->waiters);
    s->random = (uint64_t)clock_now_ns() | 1;
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    atomic_store(&s->rate_hz, config->rate_hz);
    return s;
}

/* ---- the thread ---- */

static void wake_worker(struct sampler *s)
{
    if (s->emitted)
        (void)!write(s->notify_fd, &(uint64_t){1}, sizeof(uint64_t));
    s->emitted = false;
}

static void flush_if_asked(struct sampler *s)
{
    if (!atomic_exchange(&s->flush, false))
        return;
    if (!tick_flush(s))
        atomic_store(&s->flush, true);
    wake_worker(s);
}

/* Finds threads that only the end of the sampler's thread lets go (COUNT_STUCK), which then is due.
 * For each round of a loop in which no tick runs; *CHECK_NS: when next. */
static void check_for_stuck(struct sampler *s, int64_t *check_ns)
{
    int64_t now_ns = clock_now_ns();
    if (now_ns < *check_ns)
        return;
    pending_find_stuck(s);
    *check_ns = now_ns + CHECK_NS;
}

/* A long pause costs next to nothing, and ends at once all the same. */
static void sleep_in_pause(struct sampler *s)
{
    bool stays = atomic_load(&s->stays_paused) && atomic_load(&s->pause) == PAUSED;
    int64_t end_ns = clock_now_ns() + (stays ? CHECK_NS : NS_PER_MS);
    if (tracer_sleep(s->tracer, end_ns, stays ? s->wake_fd : -1))
        (void)!read(s->wake_fd, &(uint64_t){0}, sizeof(uint64_t));
}

/* A request that is out when wallspy is stopped would hold its thread until wallspy goes on.  So no
 * tick, which would ask anew, begins until none is out.  The wait lasts as long as a thread waits
 * for its page.  Threads that ended by an execve, or with their process, are noticed by
 * thread_list_update() alone. */
static void pause_if_asked(struct sampler *s)
{
    int64_t check_ns = clock_now_ns() + CHECK_NS;
    while (atomic_load(&s->pause) != PAUSE_NONE && !process_table_done(s) &&
           !atomic_load_explicit(&s->stop, memory_order_relaxed) &&
           !counters_get(&s->counters, COUNT_STUCK)) {
        int asked = PAUSE_ASKED;
        if (!tracer_pending(s->tracer))
            (void)atomic_compare_exchange_strong(&s->pause, &asked, PAUSED);
        for (uint32_t i = 0; i < s->n_processes && asked != PAUSED; i++)
            if (!s->processes[i]->ended)
                (void)thread_list_update(s, s->processes[i], false);
        sleep_in_pause(s);
        check_for_stuck(s, &check_ns);
        flush_if_asked(s);
    }
}

/* Sleeps until the next tick or the end.  Other threads set a flag, then write to wake_fd.  So
 * wake_fd is emptied before the flags are read; it may be readable for a flag that was read. */
static void sleep_until(struct sampler *s, int64_t until_ns)
{
    bool woken;
    do {
        bool again = atomic_load(&s->flush); /* the ring had no room */
        int64_t end_ns = again ? min_i64(until_ns, clock_now_ns() + NS_PER_MS) : until_ns;
        woken = tracer_sleep(s->tracer, end_ns, s->wake_fd) || end_ns < until_ns;
        if (woken)
            (void)!read(s->wake_fd, &(uint64_t){0}, sizeof(uint64_t));
        flush_if_asked(s);
        pause_if_asked(s);
    } while (woken && !atomic_load_explicit(&s->stop, memory_order_relaxed));
}

bool sampler_pause(struct sampler *s)
{
    int64_t end = clock_now_ns() + PAUSE_NS;
    int none = PAUSE_NONE;
    if (atomic_compare_exchange_strong(&s->pause, &none, PAUSE_ASKED))
        (void)!write(s->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
    while (atomic_load(&s->pause) != PAUSED && !sampler_done(s) && clock_now_ns() < end)
        (void)nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    return atomic_load(&s->pause) == PAUSED || sampler_done(s);
}

void sampler_resume(struct sampler *s)
{
    if (!atomic_load(&s->stays_paused))
        atomic_store(&s->pause, PAUSE_NONE);
}

void sampler_stay_paused(struct sampler *s)
{
    atomic_store(&s->stays_paused, true);
}

/* Now, as struct task_stat has the beginning of a thread. */
static uint64_t now_ticks(void)
{
    struct timespec now = {0};
    uint64_t tick_ns = NS_PER_S / (uint64_t)max_i64(sysconf(_SC_CLK_TCK), 1);
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return ((uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec) / tick_ns;
}

void sampler_end_pause(struct sampler *s)
{
    if (s->start_ticks != UINT64_MAX)
        s->start_ticks = now_ticks();
    atomic_store(&s->pause_ended, true);
    atomic_store(&s->stays_paused, false);
    atomic_store(&s->pause, PAUSE_NONE);
    (void)!write(s->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
}

bool sampler_fork_begin(struct sampler *s)
{
    bool asked_before = atomic_load(&s->pause) != PAUSE_NONE; /* the user's pause */
    bool paused = sampler_pause(s);
    if (paused)
        ring_keep_from_children(s->ring, true);
    else if (!asked_before)
        sampler_resume(s);
    return paused;
}

/* After a fork the first write to each page copies it, which takes 2 µs and more: that of the
 * sampler's own state is done here.  Before Linux 5.14 it is done in holds. */
void sampler_fork_end(struct sampler *s)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)s & ~(page - 1);
    uintptr_t end = ((uintptr_t)(s + 1) + page - 1) & ~(page - 1);
    ring_keep_from_children(s->ring, false);
    (void)madvise((void *)start, end - start, MADV_POPULATE_WRITE);
    sampler_resume(s);
}

/* Ticks lie on an absolute grid, each at a random moment of its interval.  A tick that could not
 * begin within its interval is left out, and counted.  The first one is made however late it is:
 * a short recording on a slow machine has samples. */
static void run_ticks(struct sampler *s)
{
    int64_t slot_ns = clock_now_ns();
    s->overhead_checked_ns = slot_ns;
    process_table_update(s);
    while (!process_table_done(s) && !counters_get(&s->counters, COUNT_STUCK)) {
        on_cpu_woke(s);
        tick_run(s);
        wake_worker(s);
        if (process_table_done(s))
            break;
        overhead_keep_priority(s);
        overhead_keep(s);
        slot_ns += s->interval_ns;
        int64_t late_ns = clock_now_ns() - slot_ns;
        if (late_ns > s->interval_ns) {
            int64_t left_out = late_ns / s->interval_ns;
            counters_add(&s->counters, COUNT_LATE_TICKS, (uint64_t)left_out);
            slot_ns += left_out * s->interval_ns;
        }
        int64_t due_ns = slot_ns + (int64_t)(random_share(&s->random) * (double)s->interval_ns);
        sleep_until(s, due_ns);
        if (atomic_exchange(&s->pause_ended, false))
            slot_ns = due_ns = clock_now_ns();
        counters_add(&s->counters, COUNT_TICK_DELAY_NS,
                     (uint64_t)min_i64(max_i64(clock_now_ns() - due_ns, 0), s->interval_ns));
        if (atomic_load_explicit(&s->stop, memory_order_relaxed))
            break;
    }
}

/* Waits for IS_TRUE, for NS at most.  Ends early where a thread cannot be let go. */
static bool wait_until(struct sampler *s, bool (*is_true)(struct sampler *), int64_t ns)
{
    int64_t end_ns = clock_now_ns() + ns;
    int64_t check_ns = end_ns - ns + CHECK_NS;
    while (!is_true(s) && clock_now_ns() < end_ns && !counters_get(&s->counters, COUNT_STUCK)) {
        tracer_sleep(s->tracer, clock_now_ns() + NS_PER_MS, -1);
        bool frozen = tracer_held(s->tracer) && !stop_requests_release_frozen(s);
        if (!frozen)
            check_for_stuck(s, &check_ns);
    }
    return is_true(s);
}

/* The worker has read all messages, and its feedback is complete. */
static bool worker_is_done(struct sampler *s)
{
    return ring_is_empty(s->ring);
}

static bool all_have_stopped(struct sampler *s)
{
    return tracer_pending(s->tracer) <= tracer_held(s->tracer) || stop_requests_release_frozen(s);
}

static void shoot(struct sampler *s)
{
    tick_run(s);
    (void)wait_until(s, all_have_stopped, SINGLE_SHOT_NS);
    tracer_release_held(s->tracer);
}

/* Stops are put off for later ticks; a shot has none. */
static void begin_shot(struct sampler *s)
{
    s->shooting = true;
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_threads; j++) {
            struct thread *t = s->processes[i]->threads[j];
            t->stop_not_before_ns = t->call_not_before_ns = 0;
        }
}

/* Threads whose stacks need registers, or are deeper than was read, are captured once more. */
static void run_once(struct sampler *s)
{
    bool any = true;
    begin_shot(s);
    for (int i = 0; i < MAX_SHOTS && any && wait_until(s, worker_is_done, WORKER_NS) &&
                    !counters_get(&s->counters, COUNT_STUCK);
         i++) {
        shoot(s);
        any = s->emitted;
        wake_worker(s);
    }
}

/* When this thread began.  UINT64_MAX: unknown. */
static uint64_t own_start_ticks(void)
{
    struct task_stat stat;
    return proc_stat(getpid(), gettid(), &stat) == 0 ? stat.start_ticks : UINT64_MAX;
}

static int own_cpus(void)
{
    cpu_set_t cpus; /* too small where there are more than 1,024 */
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus)
                                                         : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void *sampler_main(void *arg)
{
    struct sampler *s = arg;
    struct tracer_handler handler = {s,
                                     &s->seizing_since_ns,
                                     &s->holding_since_ns,
                                     stop_requests_stopped,
                                     stop_requests_released,
                                     stop_requests_gone,
                                     process_table_on_child};
    (void)prctl(PR_SET_NAME, "wallspy-sampler");
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    s->n_cpus = own_cpus();
    priority_set(&s->priority, s->n_cpus);
    atomic_store(&s->tid, gettid());
    s->own_fd = proc_task_open(getpid(), gettid(), "schedstat");
    s->own_sched_fd = proc_task_open(getpid(), gettid(), "sched");
    s->can.sched &= s->own_sched_fd >= 0;
    s->start_ticks = own_start_ticks();
    s->tracer = tracer_new(&handler);
    if (s->config.looks_first || !s->config.single_shot)
        run_ticks(s);
    if (s->config.single_shot)
        run_once(s);
    tick_conclude(s);
    tracer_await_pending(s->tracer,
                         counters_get(&s->counters, COUNT_STUCK) ? SETTLE_STUCK_NS : SETTLE_NS);
    tick_close(s);
    s->tracer = tracer_free(s->tracer);
    atomic_store_explicit(&s->done, true, memory_order_release);
    wake_worker(s);
    return NULL;
}

int sampler_start(struct sampler *s, struct err *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < MIN_FDS)
        return err_set(err, -EMFILE,
                       "no more than %d files may be open: wallspy needs %d (ulimit -n)",
                       (int)limit.rlim_cur, MIN_FDS);
    /* The new thread takes no signal but SIGCHLD, where tracer.c lets it in.  No other thread takes
     * SIGCHLD, because the stopping thread would have to wake it: 10 to 20 µs of each hold. */
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    int r = own_stack_thread(&s->thread, STACK_LEAST_BYTES, sampler_main, s);
    sigaddset(&old, SIGCHLD);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (r)
        return err_set(err, -r, "cannot start a thread: %s", strerror(r));
    s->started = true;
    return 0;
}

void sampler_stop(struct sampler *s)
{
    atomic_store_explicit(&s->stop, true, memory_order_relaxed);
    (void)!write(s->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
}

void sampler_interrupt_seize(struct sampler *s)
{
    int64_t since_ns = atomic_load_explicit(&s->seizing_since_ns, memory_order_relaxed);
    if (s->started && since_ns && clock_now_ns() - since_ns > SEIZE_NS)
        tracer_interrupt_seize(s->thread);
}

int64_t sampler_holding_since_ns(const struct sampler *s, pid_t *ret_tid)
{
    *ret_tid = atomic_load_explicit(&s->tid, memory_order_relaxed);
    return atomic_load_explicit(&s->holding_since_ns, memory_order_relaxed);
}

void sampler_wake_worker(const struct sampler *s)
{
    (void)!write(s->notify_fd, &(uint64_t){1}, sizeof(uint64_t));
}

void sampler_abandon(struct sampler *s)
{
    int64_t since_ns = atomic_load(&s->holding_since_ns);
    if (since_ns)
        counters_add_hold(&s->counters, (uint64_t)(clock_now_ns() - since_ns));
    s->started = false;
    counters_add(&s->counters, COUNT_STUCK, 1);
    tick_close(s);
    s->tracer = tracer_free(s->tracer);
    atomic_store_explicit(&s->done, true, memory_order_release);
}

/* Yama lets a launched command's parent alone trace it.  To open its memory asks for the same. */
static bool may_trace(const struct process *p)
{
    int fd = proc_open(p->pid, "mem");
    if (fd >= 0)
        close(fd);
    return fd >= 0 || fd == -ESRCH || fd == -ENOENT;
}

static void forget_request(struct sampler *s, struct thread *t)
{
    waiters_stopped(s, t);
    t->pending = false;
}

static void forget_requests(struct sampler *s)
{
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_threads; j++)
            forget_request(s, s->processes[i]->threads[j]);
    for (size_t i = 0; i < s->n_ended; i++)
        forget_request(s, s->ended[i]);
    s->n_queued = 0;
    s->tracer = tracer_free(s->tracer);
}

/* What the thread was in the midst of when this process was forked is as if it had never begun. */
static void forget_hold(struct sampler *s, struct thread *t, int64_t held_ns)
{
    const struct capture_hook *hook = process_hook(t->process);
    if (hook)
        hook->undo(hook->ctx);
    counters_add_hold(&s->counters, (uint64_t)held_ns);
    overhead_add(t, (uint32_t)min_i64(held_ns, UINT32_MAX));
    s->held = (struct held_capture){0};
    atomic_store(&s->holding_since_ns, 0);
    atomic_store(&s->seizing_since_ns, 0);
    atomic_store(&s->pause, PAUSE_NONE);
}

pid_t sampler_go_on(struct sampler *s, int64_t *ret_ns)
{
    struct err err;
    struct thread *t = s->held_thread;
    int64_t since_ns = atomic_load(&s->holding_since_ns);
    if (s->config.single_shot || !since_ns || !t || atomic_load(&s->stop) || !may_trace(t->process))
        return 0;
    forget_requests(s);
    forget_hold(s, t, clock_now_ns() - since_ns);
    if (s->own_fd >= 0)
        close(s->own_fd);
    if (s->own_sched_fd >= 0)
        close(s->own_sched_fd);
    s->own_fd = s->own_sched_fd = -1;
    s->cpu_ns = s->own_cpu_ns = 0; /* this process's, and its thread's */
    *ret_ns = left_alone_begin(s, t->process);
    return sampler_start(s, &err) == 0 ? t->process->pid : 0;
}

void sampler_flush(struct sampler *s)
{
    atomic_store(&s->flush, true);
    (void)!write(s->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
}

/* ---- for the worker ---- */

/* A thread that cannot be let go (COUNT_STUCK) goes with the end of the sampler's thread. */
bool sampler_done(struct sampler *s)
{
    if (!atomic_load_explicit(&s->done, memory_order_acquire))
        return false;
    if (s->started)
        (void)pthread_join(s->thread, NULL);
    s->started = false;
    return true;
}

int sampler_fd(const struct sampler *s)
{
    return s->notify_fd;
}

void sampler_drain(struct sampler *s)
{
    uint64_t count;
    (void)!read(s->notify_fd, &count, sizeof count);
}

struct ring *sampler_ring(struct sampler *s)
{
    return s->ring;
}

struct feedback *sampler_feedback(struct sampler *s)
{
    return &s->feedback;
}

const struct sampler_counters *sampler_counters(const struct sampler *s)
{
    return &s->counters;
}

double sampler_rate_hz(const struct sampler *s)
{
    return atomic_load_explicit(&s->rate_hz, memory_order_relaxed);
}

double sampler_worst_held(const struct sampler *s)
{
    return atomic_load_explicit(&s->worst_held, memory_order_relaxed);
}

double sampler_worst_lost(const struct sampler *s)
{
    return atomic_load_explicit(&s->worst_lost, memory_order_relaxed);
}

enum sampler_priority sampler_priority(const struct sampler *s, int *ret_nice)
{
    *ret_nice = atomic_load_explicit(&s->priority.nice, memory_order_relaxed);
    return (enum sampler_priority)atomic_load_explicit(&s->priority.kind, memory_order_relaxed);
}

uint32_t sampler_thread_count(const struct sampler *s)
{
    return atomic_load_explicit(&s->thread_count, memory_order_relaxed);
}

struct sampler *sampler_free(struct sampler *s)
{
    if (!s)
        return NULL;
    if (s->started) {
        sampler_stop(s);
        (void)pthread_join(s->thread, NULL);
    }
    process_table_release(s);
    for (size_t i = 0; i < s->n_ended; i++)
        thread_free(s->ended[i], &s->files);
    free(s->ended);
    free(s->queued);
    ring_free(s->ring);
    if (s->own_fd >= 0)
        close(s->own_fd);
    if (s->own_sched_fd >= 0)
        close(s->own_sched_fd);
    close(s->wake_fd);
    close(s->notify_fd);
    free(s);
    return NULL;
}
