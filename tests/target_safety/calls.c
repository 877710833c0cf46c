/* One thread for each kind of waiting call, which makes it over and over.  No call may be
 * interrupted, give up early or move less than asked: no signal is sent but to those that wait for
 * one.
 *   calls repaired|restarted|cut race      short waits, so that each is always about to enter or
 *                                          leave
 *   calls repaired|restarted|cut blocked   long ones
 * The groups are those of docs/interrupted-calls.md.  Counts, besides what befell the calls, how
 * much later than asked each time-out came: late0 … lateN, less than 2^N µs. */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counts.h"

enum { LATE_BUCKETS = 24, MOST_SPIN_NS = 100000 };

long socket_wait_ns;
static struct call *calls;
static size_t n_calls;
static bool race;

int timed_out(long r, int wanted)
{
    if (wanted == 0)
        return r == 0 ? RIGHT : r < 0 ? errno : ODD;
    if (r >= 0)
        return ODD;
    return errno == wanted ? RIGHT : errno;
}

int moved(ssize_t r, ssize_t wanted)
{
    if (r < 0)
        return errno;
    return r == wanted ? RIGHT : SHORT;
}

int milliseconds(struct timespec t)
{
    return (int)(t.tv_nsec + 999999) / 1000000;
}

struct timespec from_now(clockid_t clock, struct timespec wait)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    t.tv_nsec += wait.tv_nsec;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

void must(long r, const char *what)
{
    if (r < 0)
        fail(what);
}

void make_pipe(struct call *c)
{
    must(pipe(c->fds), "pipe");
    must(fcntl(c->fds[1], F_SETPIPE_SZ, CALL_BYTES), "F_SETPIPE_SZ");
}

void make_sockets(struct call *c)
{
    static const struct timeval timeout = {.tv_sec = LONG_SECONDS};
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, c->fds), "socketpair");
    must(setsockopt(c->fds[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout), "SO_RCVTIMEO");
    must(setsockopt(c->fds[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout), "SO_SNDTIMEO");
}

void feed_byte(struct call *c)
{
    (void)!write(c->fds[1], "x", 1);
}

void feed_eventfd(struct call *c)
{
    const uint64_t one = 1;
    (void)!write(c->fds[1], &one, sizeof one);
}

void feed_signal(struct call *c)
{
    if (c->tid)
        (void)syscall(SYS_tgkill, getpid(), c->tid, SIGUSR1);
}

void feed_nothing(struct call *c)
{
    (void)c;
}

/* ---- what is counted ---- */

/* How often each call was made follows, and how often one of these befell it. */
enum { INTERRUPTED, CUT, EARLY, OTHER, LATE_MAX_US, LATE, FIRST_CALL = LATE + LATE_BUCKETS };
static struct count counts[FIRST_CALL + 2 * MAX_CALLS + 1] = {{.name = "eintr"},
                                                              {.name = "short"},
                                                              {.name = "early"},
                                                              {.name = "odd"},
                                                              {.name = "late_max_us"}};

static void name_counts(void)
{
    static char names[LATE_BUCKETS + MAX_CALLS][32];
    for (int i = 0; i < LATE_BUCKETS; i++) {
        (void)snprintf(names[i], sizeof names[i], "late%d", i);
        counts[LATE + i].name = names[i];
    }
    for (size_t i = 0; i < n_calls; i++) {
        (void)snprintf(names[LATE_BUCKETS + i], sizeof names[i], "%s.bad", calls[i].name);
        counts[FIRST_CALL + 2 * i].name = calls[i].name;
        counts[FIRST_CALL + 2 * i + 1].name = names[LATE_BUCKETS + i];
    }
}

static void note(size_t i, int came_to, bool too_early)
{
    counts[FIRST_CALL + 2 * i].n++;
    counts[FIRST_CALL + 2 * i + 1].n += came_to != RIGHT || too_early;
    counts[INTERRUPTED].n += came_to == EINTR;
    counts[CUT].n += came_to == SHORT;
    counts[EARLY].n += came_to == RIGHT && too_early;
    counts[OTHER].n += came_to != RIGHT && came_to != EINTR && came_to != SHORT;
}

static void note_late(int64_t ns)
{
    long us = ns > 0 ? (long)(ns / 1000) : 0;
    long longest = counts[LATE_MAX_US].n;
    int bucket = 0;
    while (bucket < LATE_BUCKETS - 1 && us >= 1L << bucket)
        bucket++;
    counts[LATE + bucket].n++;
    while (us > longest && !atomic_compare_exchange_weak(&counts[LATE_MAX_US].n, &longest, us))
        ;
}

/* ---- the threads ---- */

static void spin(int64_t ns)
{
    for (int64_t end = now_ns() + ns; now_ns() < end;)
        ;
}

static struct timespec some_wait(unsigned *seed)
{
    long least_ns = race ? 500000 : 20000000;
    long more_ns = race ? 1500000 : 40000000;
    return (struct timespec){.tv_nsec = least_ns + rand_r(seed) % more_ns};
}

static void *call_main(void *arg)
{
    struct call *c = arg;
    size_t i = (size_t)(c - calls);
    unsigned seed = (unsigned)i;
    for (c->tid = gettid();;) {
        struct timespec wait = some_wait(&seed);
        spin(race ? rand_r(&seed) % MOST_SPIN_NS : 0);
        int64_t start_ns = now_ns();
        int came_to = c->once(c, wait);
        int64_t took_ns = now_ns() - start_ns;
        int64_t asked_ns = c->own_wait_ns ? c->own_wait_ns : wait.tv_nsec;
        note(i, came_to, c->is_exact && took_ns < asked_ns - c->early_ns);
        if (!c->feed && came_to == RIGHT)
            note_late(took_ns - asked_ns);
    }
    return NULL;
}

static void *feeder_main(void *unused)
{
    (void)unused;
    for (;;) {
        (void)usleep(race ? 1000 : 30000);
        for (size_t i = 0; i < n_calls; i++)
            if (calls[i].feed)
                calls[i].feed(&calls[i]);
    }
    return NULL;
}

static void choose(int argc, char **argv)
{
    if (argc != 3)
        exit(99);
    race = strcmp(argv[2], "race") == 0;
    calls = strcmp(argv[1], "repaired") == 0    ? repaired_calls
            : strcmp(argv[1], "restarted") == 0 ? restarted_calls
                                                : cut_calls;
    while (calls[n_calls].name)
        n_calls++;
    socket_wait_ns = race ? 1000000 : 40000000;
}

int main(int argc, char **argv)
{
    sigset_t set;
    choose(argc, argv);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    name_counts();
    for (size_t i = 0; i < n_calls; i++)
        if (calls[i].prepare)
            calls[i].prepare(&calls[i]);
    for (size_t i = 0; i < n_calls; i++)
        start_thread(call_main, &calls[i], calls[i].name);
    start_thread(feeder_main, NULL, "feeder");
    answer(counts);
    for (size_t i = 0; i < n_calls; i++)
        if (calls[i].release)
            calls[i].release(&calls[i]);
    _exit(0);
}
