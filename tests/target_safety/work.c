/* Work whose result is known.
 *   work sums N          N threads that compute the same sums over and over
 *   work once MS         two such threads, for MS milliseconds; says "started" first, its exit code
 *                        is 7
 *   work signals         a thread that gets 10,000 queued signals while it computes
 *   work shares          30 ms in first(), 20 ms in second(), 50 ms asleep, over and over
 *   work blocked N       N threads that wait for ever, beside one that computes
 *   work orphans         the main thread ends, two that compute go on
 *   work leaderless      the same once a byte has come
 *   work undumpable      computes; after a second it is not dumpable any more
 *   work deep FRAMES     recursion so deep
 *   work wide BYTES      the same over BYTES of stack
 * Counts rounds, and those that came out wrong; of sums also the longest
 * time that a round was stopped: neither on a CPU nor waiting for one. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "counts.h"

enum { SIGNALS = 10000, KIB = 1024, ONCE_CODE = 7 };

enum { ROUNDS, WRONG, PAUSE_US, HANDLED, ORDER, FIRST_US, SECOND_US, SLEEP_US };
static struct count counts[] = {{.name = "rounds"},    {.name = "wrong"},     {.name = "pause_us"},
                                {.name = "handled"},   {.name = "misplaced"}, {.name = "first_us"},
                                {.name = "second_us"}, {.name = "sleep_us"},  {0}};

static volatile uint64_t one = 1;

/* Integers, doubles and memory; some 100 µs. */
__attribute__((noinline)) static uint64_t compute(void)
{
    uint64_t sum = one;
    double x = 1;
    uint64_t table[256];
    for (int i = 0; i < 256; i++)
        table[i] = (uint64_t)i * 0x9e3779b97f4a7c15;
    for (int i = 0; i < 20000; i++) {
        sum = sum * 6364136223846793005 + table[sum >> 56];
        x = x * 1.0000001 + 1e-9 * (double)i;
        table[i & 255] ^= sum;
    }
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return sum ^ bits;
}

static uint64_t right;

static void one_round(void)
{
    counts[WRONG].n += compute() != right;
    counts[ROUNDS].n++;
}

/* Time that this thread neither ran nor waited for a CPU, in ns. */
static int64_t off_cpu_ns(int schedstat)
{
    char text[64] = "";
    long long run_ns = 0;
    long long wait_ns = 0;
    int64_t now = now_ns();
    if (pread(schedstat, text, sizeof text - 1, 0) > 0)
        (void)sscanf(text, "%lld %lld", &run_ns, &wait_ns);
    return now - run_ns - wait_ns;
}

static void note_pause(int schedstat, int64_t *last_ns)
{
    int64_t now = off_cpu_ns(schedstat);
    long us = (long)((now - *last_ns) / 1000);
    long longest = counts[PAUSE_US].n;
    while (us > longest && !atomic_compare_exchange_weak(&counts[PAUSE_US].n, &longest, us))
        ;
    *last_ns = now;
}

static void *sums_main(void *unused)
{
    (void)unused;
    int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    for (int64_t last_ns = off_cpu_ns(schedstat);;) {
        one_round();
        note_pause(schedstat, &last_ns);
    }
    return NULL;
}

/* ---- once ---- */

static int run_once(long ms)
{
    (void)puts("started");
    (void)fflush(stdout);
    start_thread(sums_main, NULL, "sums");
    start_thread(sums_main, NULL, "sums");
    (void)usleep((useconds_t)ms * 1000);
    print_counts(counts);
    return ONCE_CODE;
}

/* ---- signals ---- */

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    if (info->si_value.sival_int != (int)counts[HANDLED].n)
        counts[ORDER].n++;
    counts[HANDLED].n++;
}

static void *signals_main(void *thread)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    (void)sigaction(SIGRTMIN, &action, NULL);
    *(pthread_t *)thread = pthread_self();
    return sums_main(NULL);
}

/* Spread over some seconds, so that many come while the thread is being stopped. */
static void *send_main(void *thread)
{
    while (!counts[ROUNDS].n)
        (void)usleep(1000);
    for (int i = 0; i < SIGNALS; i++) {
        while (pthread_sigqueue(*(pthread_t *)thread, SIGRTMIN, (union sigval){.sival_int = i}))
            (void)usleep(1000); /* EAGAIN: too many are queued */
        if (i % 8 == 7)
            (void)usleep(1000);
    }
    return NULL;
}

/* ---- shares ---- */

static volatile unsigned long sink;

static void spin_until(int64_t end_ns)
{
    while (now_ns() < end_ns)
        for (int i = 0; i < 1000; i++)
            sink = sink * 3 + 1;
}

__attribute__((noinline)) static void first(void)
{
    spin_until(now_ns() + 30000000);
    counts[ROUNDS].n++; /* no tail call */
}

__attribute__((noinline)) static void second(void)
{
    spin_until(now_ns() + 20000000);
    counts[ROUNDS].n++;
}

static void *shares_main(void *unused)
{
    (void)unused;
    for (;;) {
        int64_t start_ns = now_ns();
        first();
        int64_t middle_ns = now_ns();
        second();
        int64_t end_ns = now_ns();
        (void)usleep(50000);
        counts[FIRST_US].n += (middle_ns - start_ns) / 1000;
        counts[SECOND_US].n += (end_ns - middle_ns) / 1000;
        counts[SLEEP_US].n += (now_ns() - end_ns) / 1000;
    }
    return NULL;
}

/* ---- stacks ---- */

static volatile int going_on = 1; /* for ever, but the compiler must not know */

static void *blocked_main(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

__attribute__((noinline)) static uint64_t go_down(long frames)
{
    while (frames <= 0 && going_on)
        one_round();
    if (!going_on)
        return 0;
    uint64_t ret = go_down(frames - 1);
    __asm__ volatile("" ::: "memory");
    return ret + 1;
}

__attribute__((noinline)) static uint64_t go_wide(long frames, size_t bytes)
{
    volatile char room[64 * KIB];
    for (size_t i = 0; i < sizeof room; i += KIB)
        room[i] = (char)frames;
    while (bytes < sizeof room && going_on)
        one_round();
    if (!going_on)
        return 0;
    uint64_t ret = go_wide(frames + 1, bytes - sizeof room);
    return ret + (uint64_t)room[frames];
}

static void *deep_main(void *frames)
{
    (void)go_down(*(long *)frames);
    return NULL;
}

static void *wide_main(void *bytes)
{
    (void)go_wide(0, *(size_t *)bytes);
    return NULL;
}

static void start_big_thread(void *(*main)(void *), void *arg)
{
    pthread_t thread;
    pthread_attr_t attr;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, 16UL * KIB * KIB);
    if (pthread_create(&thread, &attr, main, arg))
        fail("pthread_create");
}

static void *undumpable_main(void *unused)
{
    (void)unused;
    (void)usleep(1000000);
    (void)prctl(PR_SET_DUMPABLE, 0);
    return NULL;
}

static void *answer_main(void *unused)
{
    (void)unused;
    answer(counts);
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    static long n;
    static pthread_t receiver;
    n = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    right = compute();
    if (strcmp(kind, "once") == 0)
        return run_once(n);
    if (strcmp(kind, "sums") == 0)
        for (long i = 0; i < n; i++)
            start_thread(sums_main, NULL, "sums");
    /* Before those that are blocked: wallspy takes seconds to meet ten thousand, in their order. */
    if (strcmp(kind, "blocked") == 0 || strcmp(kind, "undumpable") == 0)
        start_thread(sums_main, NULL, "sums");
    if (strcmp(kind, "blocked") == 0)
        for (long i = 0; i < n; i++)
            start_thread(blocked_main, NULL, "blocked");
    if (strcmp(kind, "signals") == 0) {
        start_thread(signals_main, &receiver, "receiver");
        start_thread(send_main, &receiver, "sender");
    }
    if (strcmp(kind, "shares") == 0)
        start_thread(shares_main, NULL, "shares");
    if (strcmp(kind, "deep") == 0)
        start_big_thread(deep_main, &n);
    if (strcmp(kind, "wide") == 0)
        start_big_thread(wide_main, &n);
    if (strcmp(kind, "undumpable") == 0)
        start_thread(undumpable_main, NULL, "undumpable");
    if (strcmp(kind, "orphans") == 0 || strcmp(kind, "leaderless") == 0) {
        start_thread(sums_main, NULL, "sums");
        start_thread(sums_main, NULL, "sums");
        char byte;
        if (strcmp(kind, "leaderless") == 0)
            (void)!write(STDOUT_FILENO, "ready\n", 6);
        if (strcmp(kind, "leaderless") == 0)
            (void)!read(STDIN_FILENO, &byte, 1);
        start_thread(answer_main, NULL, "answer");
        pthread_exit(NULL);
    }
    answer(counts);
    _exit(0);
}
