#include "sampler/sampler.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "capture/message.h"
#include "sampler/state.h"
#include "sampler/thread_files.h"
#include "target/mem.h"
#include "target/proc.h"
#include "tests/support/check_main.h"

enum { WORD = 42, SLEEPERS = 40 };

static bool hook_tick(void *ctx, struct mem *live)
{
    (void)ctx, (void)live;
    return false;
}

static uint32_t hook_capture(void *ctx, struct mem *recording, pid_t ns_tid, uint64_t fs_base,
                             uint64_t *hook_words, bool *ret_incomplete)
{
    (void)ctx, (void)recording, (void)ns_tid, (void)fs_base, (void)ret_incomplete;
    hook_words[0] = WORD;
    return 1;
}

static void hook_undo(void *ctx)
{
    (void)ctx;
}

static bool hook_is_python(void *ctx, pid_t ns_tid)
{
    (void)ctx, (void)ns_tid;
    return true;
}

static bool hook_name(void *ctx, pid_t ns_tid, struct text *name)
{
    (void)ctx, (void)ns_tid, (void)name;
    return false;
}

/* The child is blocked when this returns, also where a new process waits long for a CPU. */
static pid_t blocked_child(void)
{
    struct task_status status;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        for (;;)
            (void)pause();
    do {
        (void)usleep(1000);
        ck_assert_int_eq(proc_status(pid, 0, &status), 0);
    } while (status.state != 'S'); /* else the test runs out of time */
    return pid;
}

/* A child that is sampled. */
struct watched {
    pid_t pid;
    struct mem *live;
    struct sampler *s;
};

static struct watched add(pid_t pid, double rate_hz)
{
    const struct sampler_config config = {.rate_hz = rate_hz, .max_held = 1};
    struct err err = {0};
    struct watched w = {.pid = pid, .s = sampler_new(&config)};
    ck_assert_int_eq(mem_live_open(&w.live, pid, &err), 0);
    ck_assert_int_eq(sampler_add(w.s, pid, 0, w.live, &err), 0);
    return w;
}

static void start(const struct watched *w)
{
    struct err err = {0};
    ck_assert_int_eq(sampler_start(w->s, &err), 0);
}

static struct watched watch(pid_t pid, double rate_hz)
{
    struct watched w = add(pid, rate_hz);
    start(&w);
    return w;
}

/* The child lives on until it is killed. */
static void unwatch(struct watched *w)
{
    sampler_free(w->s);
    mem_free(w->live);
    ck_assert_int_eq(waitpid(w->pid, NULL, WNOHANG), 0);
    (void)kill(w->pid, SIGKILL);
    ck_assert_int_eq(waitpid(w->pid, NULL, 0), w->pid);
}

/* Takes samples until none has come for TIMEOUT_MS.  Returns how many; *RET: the head of the last;
 * *RET_WORDS: its hook words. */
static int samples(struct sampler *s, int timeout_ms, struct message *ret, uint32_t *ret_words)
{
    struct pollfd fd = {sampler_fd(s), POLLIN, 0};
    int n = 0;
    size_t bytes;
    while (poll(&fd, 1, timeout_ms) > 0) {
        sampler_drain(s);
        for (const struct message *m; (m = ring_peek(sampler_ring(s), &bytes));) {
            if (m->kind == MESSAGE_SAMPLE) {
                *ret = *m;
                *ret_words = ((const struct sample_message *)m)->snapshot.n_hook_words;
                n++;
            }
            ring_release(sampler_ring(s));
        }
    }
    return n;
}

START_TEST(blocked_thread_is_read_again_for_a_new_hook)
{
    static const struct capture_hook hook = {NULL,      hook_tick,      hook_capture,
                                             hook_undo, hook_is_python, hook_name};
    struct message m;
    uint32_t words = 0;
    struct watched w = watch(blocked_child(), 1000);
    struct sampler *s = w.s;
    ck_assert_int_ge(samples(s, 200, &m, &words), 1);
    ck_assert_uint_eq(words, 0);
    ck_assert_int_eq(samples(s, 100, &m, &words), 0);
    sampler_set_hook(s, 0, &hook);
    ck_assert_int_eq(samples(s, 200, &m, &words), 1);
    ck_assert_uint_eq(words, 1);
    unwatch(&w);
}
END_TEST

static uint64_t counted(const struct sampler *s, enum sampler_counter c)
{
    return counters_get(sampler_counters(s), c);
}

static void await_ticks(const struct sampler *s, uint64_t n)
{
    while (counted(s, COUNT_TICKS) < n) /* else the test runs out of time */
        (void)usleep(1000);
}

/* Neither a fork nor a flush in between makes it go on, and what it did not tick is not late. */
START_TEST(a_pause_lasts_until_it_is_ended)
{
    struct watched w = watch(blocked_child(), 100);
    struct sampler *s = w.s;
    await_ticks(s, 1);
    ck_assert(sampler_pause(s));
    sampler_stay_paused(s);
    uint64_t before = counted(s, COUNT_TICKS);
    uint64_t late_before = counted(s, COUNT_LATE_TICKS);
    int64_t begun_ns = clock_now_ns();
    ck_assert(sampler_fork_begin(s));
    sampler_fork_end(s);
    sampler_flush(s);
    sampler_resume(s);
    (void)usleep(500000);
    ck_assert_uint_eq(counted(s, COUNT_TICKS), before);
    int64_t paused_ns = clock_now_ns() - begun_ns;
    sampler_end_pause(s);
    await_ticks(s, before + 1);
    /* What is late now is late after the pause. */
    int64_t since_ns = clock_now_ns() - begun_ns - paused_ns;
    int64_t late_ns = (int64_t)(counted(s, COUNT_LATE_TICKS) - late_before) * s->interval_ns;
    ck_assert_int_lt(late_ns, paused_ns / 2 + since_ns);
    unwatch(&w);
}
END_TEST

/* Nobody would end that pause.  One that was asked for before comes when it can. */
START_TEST(a_fork_that_comes_too_early_leaves_no_pause)
{
    static const struct sampler_config config = {.rate_hz = 100, .max_held = 1};
    struct sampler *s = sampler_new(&config); /* without its thread: none pauses */
    ck_assert(!sampler_fork_begin(s));
    ck_assert_int_eq(atomic_load(&s->pause), PAUSE_NONE);
    ck_assert(!sampler_pause(s));
    ck_assert(!sampler_fork_begin(s));
    ck_assert_int_eq(atomic_load(&s->pause), PAUSE_ASKED);
    sampler_free(s);
}
END_TEST

/* Other threads set a flag, then write to the descriptor: when the sampler wakes it may have read
 * the flag already. */
START_TEST(a_wake_up_for_nothing_is_over_at_once)
{
    struct watched w = watch(blocked_child(), 20);
    struct sampler *s = w.s;
    ck_assert_int_eq(write(s->wake_fd, &(uint64_t){1}, sizeof(uint64_t)), sizeof(uint64_t));
    (void)usleep(500000);
    ck_assert_uint_le(counters_get(sampler_counters(s), COUNT_TICKS), 15);
    unwatch(&w);
}
END_TEST

/* A snapshot is told for how long each thread has been where its last sample found it. */
START_TEST(what_has_held_is_told_when_asked)
{
    enum { LEAST = 5, ALL = 2 };
    size_t bytes;
    struct watched w = watch(blocked_child(), 1000);
    struct sampler *s = w.s;
    while (counters_get(sampler_counters(s), COUNT_REPEATS) < LEAST)
        (void)usleep(1000); /* else the test runs out of time */
    sampler_flush(s);
    int64_t sampled_ns = INT64_MAX;
    for (int seen = 0; seen < ALL;) { /* the same */
        const struct message *m = ring_peek(sampler_ring(s), &bytes);
        if (!m) {
            (void)usleep(1000);
            continue;
        }
        if (m->kind == MESSAGE_SAMPLE)
            sampled_ns = m->time_ns;
        if (m->kind == MESSAGE_EXTENDED) {
            ck_assert_uint_ge(m->repeats, LEAST);
            ck_assert_int_gt(m->time_ns, sampled_ns);
            seen++;
        }
        if (m->kind == MESSAGE_FLUSHED) {
            ck_assert_int_eq(seen, 1);
            seen++;
        }
        ring_release(sampler_ring(s));
    }
    unwatch(&w);
}
END_TEST

static int exec_pipe[2];

/* The child runs another program when it gets a byte. */
static pid_t child_that_execs(void)
{
    char byte;
    ck_assert_int_eq(pipe(exec_pipe), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid != 0)
        return pid;
    (void)!read(exec_pipe[0], &byte, 1);
    (void)execlp("sleep", "sleep", "60", NULL);
    _exit(1);
}

/* Fills the ring to the last byte. */
static void fill_ring(struct sampler *s)
{
    for (struct message *m; (m = ring_reserve(s->ring, sizeof *m));) {
        *m = (struct message){.kind = MESSAGE_EXTENDED};
        ring_commit(s->ring, sizeof *m);
    }
}

/* How many messages of KIND come in TIMEOUT_MS, and whether any sample came before the first. */
static int messages_of(struct sampler *s, enum message_kind kind, int timeout_ms, bool *ret_early)
{
    int n = 0;
    size_t bytes;
    int64_t end_ns = clock_now_ns() + (int64_t)timeout_ms * NS_PER_MS;
    *ret_early = false;
    while (clock_now_ns() < end_ns) {
        for (const struct message *m; (m = ring_peek(sampler_ring(s), &bytes));) {
            n += m->kind == kind;
            *ret_early |= m->kind == MESSAGE_SAMPLE && n == 0;
            ring_release(sampler_ring(s));
        }
        (void)usleep(1000);
    }
    return n;
}

START_TEST(an_execve_is_told_when_the_ring_has_room_again)
{
    bool early;
    struct watched w = add(child_that_execs(), 1000);
    struct sampler *s = w.s;
    ring_free(s->ring);
    s->ring = ring_new(1 << 16);
    fill_ring(s);
    start(&w);
    uint64_t refused = counters_get(sampler_counters(s), COUNT_RING_FULL);
    ck_assert_int_eq(write(exec_pipe[1], "", 1), 1);
    (void)usleep(300000);
    ck_assert_uint_gt(counters_get(sampler_counters(s), COUNT_RING_FULL), refused);
    ck_assert_int_eq(messages_of(s, MESSAGE_EXEC, 500, &early), 1);
    ck_assert(!early);
    unwatch(&w);
}
END_TEST

START_TEST(the_end_of_a_flush_is_told_when_the_ring_has_room_again)
{
    bool early;
    struct watched w = add(blocked_child(), 1);
    struct sampler *s = w.s;
    ring_free(s->ring);
    s->ring = ring_new(1 << 16);
    fill_ring(s);
    start(&w);
    sampler_flush(s);
    uint64_t refused = counters_get(sampler_counters(s), COUNT_RING_FULL);
    while (counters_get(sampler_counters(s), COUNT_RING_FULL) < refused + 4)
        (void)usleep(1000); /* else the test runs out of time */
    ck_assert_int_eq(messages_of(s, MESSAGE_FLUSHED, 500, &early), 1);
    unwatch(&w);
}
END_TEST

/* Each new descriptor needs another one closed. */
static void leave_no_room(void)
{
    int next = dup(STDERR_FILENO);
    close(next);
    descriptors_set_limit((unsigned long)next * 4 / 3);
}

START_TEST(a_thread_gets_the_descriptors_of_other_processes)
{
    enum { PROCESSES = 8 };
    static const struct sampler_config config = {.rate_hz = 1000, .max_held = 1};
    struct err err = {0};
    struct mem *live;
    ck_assert_int_eq(mem_live_open(&live, getpid(), &err), 0);
    struct sampler *s = sampler_new(&config);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        ck_assert_int_eq(sampler_add(s, getpid(), 0, live, &err), (int)i);
        process_add(s->added[i], thread_new(s->added[i], i + 1, getpid()));
        ck_assert_int_ge(thread_file_fd(s, s->added[i]->threads[0], FILE_SCHEDSTAT), 0);
    }
    process_table_update(s);
    leave_no_room();
    for (uint32_t i = 0; i < PROCESSES; i++)
        ck_assert_int_ge(thread_file_fd(s, s->added[i]->threads[0], FILE_SYSCALL), 0);
    ck_assert_uint_ge(counters_get(sampler_counters(s), COUNT_FDS_EVICTED), PROCESSES);
    ck_assert_uint_le(s->files.open, PROCESSES);
    sampler_free(s);
    mem_free(live);
}
END_TEST

START_TEST(the_files_of_a_thread_that_was_asked_to_stop_stay_open)
{
    enum { TASKS = 8 };
    static const struct sampler_config config = {.rate_hz = 1000, .max_held = 1};
    struct err err = {0};
    struct mem *live;
    ck_assert_int_eq(mem_live_open(&live, getpid(), &err), 0);
    struct sampler *s = sampler_new(&config);
    ck_assert_int_eq(sampler_add(s, getpid(), 0, live, &err), 0);
    process_table_update(s);
    struct process *p = s->added[0];
    for (uint32_t i = 0; i < TASKS; i++) {
        process_add(p, thread_new(p, i + 1, getpid()));
        p->threads[i]->pending = i == 1;
        ck_assert_int_ge(thread_file_fd(s, p->threads[i], FILE_SCHEDSTAT), 0);
    }
    leave_no_room();
    for (uint32_t i = 0; i < TASKS; i++)
        ck_assert_int_ge(thread_file_fd(s, p->threads[i], FILE_SYSCALL), 0);
    ck_assert_uint_ge(counters_get(sampler_counters(s), COUNT_FDS_EVICTED), 1);
    ck_assert_int_ge(p->threads[1]->fds[FILE_SCHEDSTAT], 0);
    ck_assert_int_ge(p->threads[1]->fds[FILE_SYSCALL], 0);
    sampler_free(s);
    mem_free(live);
}
END_TEST

/* ---- signals in a hold ---- */

static void *block_all_and_wait(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, NULL);
    for (;;)
        (void)pause();
    return unused;
}

/* The first thread runs; another, which takes no signal, sleeps. */
static pid_t child_of_two(bool takes_signals)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid != 0)
        return pid;
    pthread_t thread;
    (void)pthread_create(&thread, NULL, block_all_and_wait, NULL);
    if (!takes_signals) {
        sigset_t all;
        sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, NULL);
    }
    for (;;)
        (void)getppid();
}

static pid_t signalled;

static uint32_t hook_signals(void *ctx, struct mem *recording, pid_t ns_tid, uint64_t fs_base,
                             uint64_t *hook_words, bool *ret_incomplete)
{
    (void)ctx, (void)recording, (void)ns_tid, (void)fs_base, (void)ret_incomplete;
    hook_words[0] = WORD;
    (void)kill(signalled, SIGCHLD);
    return 1;
}

/* Samples a child that gets a signal in each hold, for so many STOPS at least, until SEEN signals
 * came in holds and, if so, one was avoided; else the test runs out of time.  Its other thread may
 * take one first. */
static void sample_signalled(bool takes_signals, uint64_t stops, uint64_t seen, uint64_t ret[2])
{
    static const struct capture_hook hook = {.tick = hook_tick,
                                             .capture = hook_signals,
                                             .undo = hook_undo,
                                             .is_python = hook_is_python,
                                             .name = hook_name};
    signalled = child_of_two(takes_signals);
    struct watched w = add(signalled, 1000);
    sampler_set_hook(w.s, 0, &hook);
    start(&w);
    const struct sampler_counters *c = sampler_counters(w.s);
    while (counters_get(c, COUNT_STOPS) < stops || counters_get(c, COUNT_SIGNALS_IN_HOLDS) < seen ||
           (seen && !counters_get(c, COUNT_SIGNALS_AVOIDED)))
        (void)usleep(1000);
    ret[0] = counters_get(c, COUNT_SIGNALS_IN_HOLDS);
    ret[1] = counters_get(c, COUNT_SIGNALS_AVOIDED);
    unwatch(&w);
}

START_TEST(signals_in_holds_are_counted_and_avoided)
{
    enum { STOPS = 6, SEEN = 3 };
    uint64_t n[2];
    sample_signalled(true, STOPS, SEEN, n);
    sample_signalled(false, STOPS, 0, n); /* which it would not take in any case */
    ck_assert_uint_eq(n[0], 0);
    ck_assert_uint_eq(n[1], 0);
}
END_TEST

/* ---- dormant threads ---- */

START_TEST(threads_that_end_leave_the_others_visited)
{
    enum { TASKS = 64 };
    static const struct sampler_config config = {.rate_hz = 1000, .max_held = 1};
    struct err err = {0};
    struct mem *live;
    ck_assert_int_eq(mem_live_open(&live, getpid(), &err), 0);
    struct sampler *s = sampler_new(&config);
    ck_assert_int_eq(sampler_add(s, getpid(), 0, live, &err), 0);
    struct process *p = s->added[0];
    struct thread *all[TASKS];
    for (uint32_t i = 0; i < TASKS; i++)
        process_add(p, all[i] = thread_new(p, i + 1, (pid_t)(i + 1)));
    for (size_t n = TASKS; n > 0; n--) {
        struct thread *ends = all[n * 37 % TASKS];
        process_remove(p, ends);
        thread_free(ends, &s->files);
        ck_assert_uint_eq(p->dormant.n_visited, n - 1);
        for (size_t i = 0; i < n - 1; i++) {
            ck_assert_ptr_ne(p->dormant.visited[i], ends);
            ck_assert_uint_eq(p->dormant.visited[i]->visited_at, i);
        }
    }
    sampler_free(s);
    mem_free(live);
}
END_TEST

static int wake_pipe[2];

/* One thread wakes for each byte, and blocks again in another call. */
static void *sleep_twice(void *unused)
{
    char byte;
    (void)!read(wake_pipe[0], &byte, 1);
    for (;;)
        (void)pause();
    return unused;
}

/* It has its threads. */
static pid_t child_of_dormant_threads(void)
{
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(wake_pipe), 0);
    ck_assert_int_eq(pipe(ready), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid != 0) {
        ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        return pid;
    }
    for (int i = 0; i < SLEEPERS; i++) {
        pthread_t thread;
        (void)pthread_create(&thread, NULL, sleep_twice, NULL);
    }
    (void)!write(ready[1], "", 1);
    for (;;)
        (void)pause();
}

/* Waits until COUNT_DORMANT_PROVEN is AT_LEAST; returns it. */
static uint64_t wait_for_proofs(struct sampler *s, uint64_t at_least)
{
    uint64_t n;
    do {
        (void)usleep(10000);
        n = counters_get(sampler_counters(s), COUNT_DORMANT_PROVEN);
    } while (n < at_least); /* else the test runs out of time */
    return n;
}

START_TEST(dormant_thread_that_runs_is_seen_at_the_next_tick)
{
    const int64_t soon_ns = NS_PER_S; /* a few ticks, but on a busy machine */
    struct message m;
    uint32_t words;
    struct watched w = watch(child_of_dormant_threads(), 1000);
    struct sampler *s = w.s;
    ck_assert_int_ge(samples(s, 600, &m, &words), SLEEPERS + 1);
    uint64_t proven = wait_for_proofs(s, 10);
    for (int i = 0; i < 3; i++) {
        int64_t woken_ns = clock_now_ns();
        ck_assert_int_eq(write(wake_pipe[1], "", 1), 1);
        ck_assert_int_ge(samples(s, 400, &m, &words), 1);
        ck_assert_int_lt(m.time_ns - woken_ns, soon_ns);
        ck_assert_int_lt(m.until_ns, woken_ns + soon_ns);
        ck_assert_int_gt(m.until_ns, woken_ns - soon_ns);
        proven = wait_for_proofs(s, proven + 10);
    }
    unwatch(&w);
}
END_TEST

/* ---- a locked address space ---- */

/* The memory of a process whose address space is locked in every other second. */
struct lockable {
    struct mem mem, *live;
    _Atomic bool locked;
};

static int lockable_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    const struct lockable *lockable = (const struct lockable *)m;
    if (lockable->locked)
        (void)usleep(1000);
    return mem_read(lockable->live, addr, buf, len);
}

static void lockable_free(struct mem *m)
{
    (void)m;
}

static void *spin(void *unused)
{
    for (volatile long n = 0;; n++)
        continue;
    return unused;
}

/* N threads that run. */
static pid_t spinning_child(int n)
{
    pthread_t thread;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    while (pid == 0 && --n > 0)
        if (pthread_create(&thread, NULL, spin, NULL))
            _exit(1);
    if (pid == 0)
        (void)spin(NULL);
    return pid;
}

/* A recording of a child whose memory is locked at first. */
static struct lockable memory;
static struct sampler *locked_sampler;
static const struct sampler_counters *count;
static pid_t locked_pid;

static void begin_locked(int threads)
{
    static const struct mem_ops ops = {.read = lockable_read, .free = lockable_free};
    static const struct sampler_config config = {.rate_hz = 200, .max_held = 1};
    struct err err = {0};
    memory = (struct lockable){.mem = {&ops}, .locked = true};
    locked_pid = spinning_child(threads);
    ck_assert_int_eq(mem_live_open(&memory.live, locked_pid, &err), 0);
    locked_sampler = sampler_new(&config);
    count = sampler_counters(locked_sampler);
    ck_assert_int_eq(sampler_add(locked_sampler, locked_pid, 0, &memory.mem, &err), 0);
    ck_assert_int_eq(sampler_start(locked_sampler, &err), 0);
}

/* Else the test runs out of time.  Messages come at every tick: it does not wait for the last. */
static void await_count(enum sampler_counter counter, uint64_t least)
{
    size_t bytes;
    while (counters_get(count, counter) < least) {
        (void)usleep(1000);
        sampler_drain(locked_sampler);
        while (ring_peek(sampler_ring(locked_sampler), &bytes))
            ring_release(sampler_ring(locked_sampler));
    }
}

static void end_locked(void)
{
    sampler_free(locked_sampler);
    mem_free(memory.live);
    (void)kill(locked_pid, SIGKILL);
    ck_assert_int_eq(waitpid(locked_pid, NULL, 0), locked_pid);
}

START_TEST(nobody_is_asked_while_memory_is_locked)
{
    begin_locked(2);
    await_count(COUNT_MEMORY_LOCKED, 20);
    /* A read during which the sampler had to wait for a CPU proves nothing. */
    ck_assert_uint_lt(counters_get(count, COUNT_STOP_REQUESTS), 10);
    memory.locked = false;
    await_count(COUNT_STOPS, 20);
    end_locked();
}
END_TEST

/* Nobody else can lock it while it is held. */
START_TEST(the_only_thread_that_runs_is_asked_all_the_same)
{
    begin_locked(1);
    await_count(COUNT_STOPS, 20);
    end_locked();
}
END_TEST

CHECK_MAIN("sampler", 30, nobody_is_asked_while_memory_is_locked,
           the_only_thread_that_runs_is_asked_all_the_same, a_pause_lasts_until_it_is_ended,
           a_fork_that_comes_too_early_leaves_no_pause, blocked_thread_is_read_again_for_a_new_hook,
           an_execve_is_told_when_the_ring_has_room_again,
           the_end_of_a_flush_is_told_when_the_ring_has_room_again,
           threads_that_end_leave_the_others_visited,
           a_thread_gets_the_descriptors_of_other_processes,
           the_files_of_a_thread_that_was_asked_to_stop_stay_open,
           a_wake_up_for_nothing_is_over_at_once, what_has_held_is_told_when_asked,
           signals_in_holds_are_counted_and_avoided,
           dormant_thread_that_runs_is_seen_at_the_next_tick)
