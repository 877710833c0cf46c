/* Processes come and go while the sampler's thread runs. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/message.h"
#include "sampler/state.h"
#include "tests/support/check_main.h"

enum { MOST = 64 };

struct tally {
    int samples[MOST], ends[MOST];
};

static pid_t child(void)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        for (;;)
            (void)pause();
    return pid;
}

static void end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0); /* or the sampler has */
}

static uint64_t start_ticks(pid_t pid)
{
    char text[PROC_TEXT_BYTES];
    struct task_stat stat;
    ssize_t len = proc_read_text(pid, 0, "stat", text, sizeof text);
    ck_assert_int_gt(len, 0);
    ck_assert_int_eq(task_stat_parse(text, (size_t)len, &stat), 0);
    return stat.start_ticks;
}

static void read_messages(struct sampler *s, struct tally *t)
{
    size_t bytes;
    struct pollfd fd = {sampler_fd(s), POLLIN, 0};
    if (poll(&fd, 1, 10) > 0)
        sampler_drain(s);
    for (const struct message *m; (m = ring_peek(sampler_ring(s), &bytes));) {
        ck_assert_uint_lt(m->process, MOST);
        t->samples[m->process] += m->kind == MESSAGE_SAMPLE;
        t->ends[m->process] += m->kind == MESSAGE_PROCESS_END;
        ring_release(sampler_ring(s));
    }
}

static int count_fds(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static const struct sampler_config config = {.rate_hz = 1000, .max_held = 1};

/* The first keeps the sampler going. */
static struct sampler *start_with(pid_t pid, struct mem **live)
{
    struct err err = {0};
    struct sampler *s = sampler_new(&config);
    ck_assert_int_eq(mem_live_open(live, pid, &err), 0);
    ck_assert_int_eq(sampler_add(s, pid, 0, *live, &err), 0);
    ck_assert_int_eq(sampler_start(s, &err), 0);
    return s;
}

START_TEST(one_that_is_added_while_the_sampler_runs_is_sampled)
{
    struct err err = {0};
    struct tally t = {0};
    struct mem *live[2];
    pid_t first = child();
    pid_t second = child();
    struct sampler *s = start_with(first, &live[0]);
    while (!t.samples[0]) /* else the test runs out of time */
        read_messages(s, &t);
    ck_assert_int_eq(mem_live_open(&live[1], second, &err), 0);
    ck_assert_int_eq(sampler_add(s, second, start_ticks(second), live[1], &err), 1);
    while (!t.samples[1])
        read_messages(s, &t);
    end(first);
    while (!t.ends[0])
        read_messages(s, &t);
    ck_assert(!sampler_done(s));
    end(second);
    while (!sampler_done(s))
        read_messages(s, &t);
    read_messages(s, &t);
    ck_assert_int_eq(t.ends[1], 1);
    sampler_free(s);
    mem_free(live[0]);
    mem_free(live[1]);
}
END_TEST

/* Where threads come and go all the time, a listing of 10,000 of them takes longer than a tick. */
START_TEST(a_process_whose_listing_takes_long_is_listed_less_often)
{
    struct process p = {.n_threads = 3, .links = 5, .links_now = 6, .listed_ns = NS_PER_S};
    const int64_t long_ns = 12 * NS_PER_MS;
    ck_assert(process_wants_listing(&p, NS_PER_S + NS_PER_MS)); /* there is a new one */
    p.listing_ns = long_ns;
    ck_assert(!process_wants_listing(&p, NS_PER_S + 3 * long_ns));
    ck_assert(process_wants_listing(&p, NS_PER_S + 5 * long_ns));
    p.n_threads = 0; /* execve */
    ck_assert(process_wants_listing(&p, NS_PER_S + long_ns));
}
END_TEST

/* Nothing is to be found where as many threads are known as the kernel counts. */
START_TEST(a_process_whose_threads_are_known_is_hardly_ever_listed)
{
    struct process p = {.n_threads = 10000, .links = 10002, .links_now = 10002};
    ck_assert(!process_wants_listing(&p, INT64_C(9) * NS_PER_S));
    ck_assert(process_wants_listing(&p, INT64_C(10) * NS_PER_S));
    p.n_threads = 9999;
    ck_assert(process_wants_listing(&p, NS_PER_S));
    p.n_threads = 10000;
    p.any_unwatched = true;
    ck_assert(process_wants_listing(&p, NS_PER_S / 10));
}
END_TEST

START_TEST(a_process_that_began_at_another_time_is_refused)
{
    struct err err = {0};
    struct mem *live;
    pid_t pid = child();
    struct sampler *s = sampler_new(&config);
    ck_assert_int_eq(mem_live_open(&live, pid, &err), 0);
    ck_assert_int_eq(sampler_add(s, pid, start_ticks(pid) + 1, live, &err), -ESRCH);
    ck_assert_int_eq(sampler_add(s, pid, start_ticks(pid), live, &err), 0);
    sampler_free(s);
    mem_free(live);
    end(pid);
}
END_TEST

/* Some end before the first tick that has them. */
static void add_and_end(struct sampler *s, struct tally *t, int number, struct mem **live)
{
    struct err err = {0};
    pid_t pid = child();
    ck_assert_int_eq(mem_live_open(live, pid, &err), 0);
    ck_assert_int_eq(sampler_add(s, pid, start_ticks(pid), *live, &err), number);
    for (int i = number % 3; i > 0; i--)
        read_messages(s, t);
    end(pid);
}

/* Until they have, or time is over. */
static void wait_for_closing(struct sampler *s, struct tally *t, int open)
{
    int64_t end_ns = clock_now_ns() + 2 * (int64_t)NS_PER_S;
    for (int i = 1; i < MOST; i++)
        while (!t->ends[i])
            read_messages(s, t);
    while (count_fds() > open && clock_now_ns() < end_ns)
        read_messages(s, t);
}

/* Numbers go on, and what an ended process had open is closed. */
START_TEST(those_that_end_leave_nothing_open)
{
    struct tally t = {0};
    struct mem *live[MOST];
    pid_t first = child();
    struct sampler *s = start_with(first, &live[0]);
    int64_t start_ns = clock_now_ns();
    while (!t.samples[0] || clock_now_ns() < start_ns + NS_PER_S / 5)
        read_messages(s, &t); /* until all is open that is opened when it is needed */
    int open = count_fds();
    for (int i = 1; i < MOST; i++)
        add_and_end(s, &t, i, &live[i]);
    wait_for_closing(s, &t, open);
    ck_assert_int_le(count_fds(), open);
    for (int i = 0; i < MOST; i++)
        ck_assert_int_eq(t.ends[i], i > 0);
    end(first);
    sampler_free(s);
    for (int i = 0; i < MOST; i++)
        mem_free(live[i]);
}
END_TEST

START_TEST(the_end_of_the_first_may_be_the_end)
{
    static const struct sampler_config launched = {
        .rate_hz = 1000, .max_held = 1, .ends_with_first = true};
    struct err err = {0};
    struct tally t = {0};
    struct mem *live[2];
    pid_t pids[] = {child(), child()};
    struct sampler *s = sampler_new(&launched);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(mem_live_open(&live[i], pids[i], &err), 0);
        ck_assert_int_eq(sampler_add(s, pids[i], 0, live[i], &err), i);
    }
    ck_assert_int_eq(sampler_start(s, &err), 0);
    while (!t.samples[0] || !t.samples[1])
        read_messages(s, &t);
    end(pids[0]);
    while (!sampler_done(s))
        read_messages(s, &t);
    ck_assert_int_eq(kill(pids[1], 0), 0);
    sampler_free(s);
    mem_free(live[0]);
    mem_free(live[1]);
    end(pids[1]);
}
END_TEST

CHECK_MAIN("process_table", 30, one_that_is_added_while_the_sampler_runs_is_sampled,
           a_process_that_began_at_another_time_is_refused,
           a_process_whose_listing_takes_long_is_listed_less_often,
           a_process_whose_threads_are_known_is_hardly_ever_listed,
           those_that_end_leave_nothing_open, the_end_of_the_first_may_be_the_end)
