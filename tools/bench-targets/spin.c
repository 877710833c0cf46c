/* Spins, reading the clock, and so sees when it was held: the target of tools/bench.  The clock is
 * the CPU's counter: clock_gettime(2) would keep the thread in the vdso, which py-spy cannot
 * unwind. A hold is a gap of 2 µs or more between two clock reads in which the thread's voluntary
 * context switches rose: this code never gives up the CPU itself, so only a stop can have done it.
 * What of a gap was waiting for a CPU, by schedstat, is given beside it.
 * SIGUSR1 starts the counting, SIGTERM ends it; then one line of JSON goes to stdout. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { HOLD_NS = 2000, MAX_HOLDS = 1 << 20 };

static struct hold {
    uint64_t at;     /* ticks */
    uint64_t length; /* ticks */
    int64_t queued_ns;
} holds[MAX_HOLDS];
static volatile sig_atomic_t begun, ended;

static void on_signal(int number)
{
    if (number == SIGUSR1)
        begun = 1;
    else
        ended = 1;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static long voluntary_switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

/* How long this thread has waited for a CPU, ever: the second field. */
static int64_t queued_ns(int schedstat)
{
    char text[96];
    ssize_t n = pread(schedstat, text, sizeof text - 1, 0);
    char *field = text;
    text[n > 0 ? n : 0] = '\0';
    strtoll(field, &field, 10);
    return strtoll(field, NULL, 10);
}

/* The CPU's counter and the clock at one moment. */
struct moment {
    uint64_t ticks;
    int64_t ns;
};

static struct moment moment_now(void)
{
    return (struct moment){__builtin_ia32_rdtsc(), now_ns()};
}

static double ns_per_tick(struct moment a, struct moment b)
{
    return (double)(b.ns - a.ns) / (double)(b.ticks - a.ticks);
}

static double calibrate(void)
{
    struct moment a = moment_now();
    nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
    return ns_per_tick(a, moment_now());
}

static void print(size_t n, long stops, long detected, uint64_t loops, struct moment start)
{
    struct moment end = moment_now();
    double scale = ns_per_tick(start, end);
    printf("{\"stops\": %ld, \"detected\": %ld, \"loops\": %ju, \"start_ns\": %jd, "
           "\"end_ns\": %jd, \"holds\": [",
           stops, detected, (uintmax_t)loops, (intmax_t)start.ns, (intmax_t)end.ns);
    for (size_t i = 0; i < n; i++)
        printf("%s[%.0f, %.0f, %jd]", i ? ", " : "",
               (double)start.ns + scale * (double)(holds[i].at - start.ticks),
               scale * (double)holds[i].length, (intmax_t)holds[i].queued_ns);
    printf("]}\n");
    fflush(stdout);
}

static void measure(uint64_t hold_ticks)
{
    int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    int64_t queued_before_ns = queued_ns(schedstat);
    size_t n = 0;
    long first = voluntary_switches();
    long seen = first;
    long detected = 0;
    uint64_t loops = 0;
    struct moment start = moment_now();
    uint64_t last = start.ticks;
    while (!ended) {
        uint64_t t = __builtin_ia32_rdtsc();
        loops++;
        if (t - last >= hold_ticks) {
            long switches = voluntary_switches();
            int64_t queued = queued_ns(schedstat);
            if (switches != seen && n < MAX_HOLDS) {
                holds[n++] = (struct hold){last, t - last, queued - queued_before_ns};
                detected += switches - seen;
            }
            /* What came between the last two reads was not seen as a gap. */
            t = __builtin_ia32_rdtsc();
            seen = switches;
            queued_before_ns = queued;
        }
        last = t;
    }
    print(n, voluntary_switches() - first, detected, loops, start);
}

/* Noinline and with work after the call, so that each level is a frame. */
__attribute__((noinline)) static int descend(int depth, uint64_t hold_ticks)
{
    if (depth == 0) {
        while (!begun)
            ;
        measure(hold_ticks);
        return 0;
    }
    int r = descend(depth - 1, hold_ticks);
    __asm__ volatile("" : "+r"(r));
    return r + 1;
}

/* Measures DEPTH calls deep, from SIGUSR1 to SIGTERM. */
int spin(int depth)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    uint64_t hold_ticks = (uint64_t)(HOLD_NS / calibrate());
    puts("ready");
    fflush(stdout);
    return descend(depth, hold_ticks);
}

/* Computes for good. */
void burn(void)
{
    for (;;)
        __asm__ volatile("");
}

static void *end_at_once(void *arg)
{
    return arg;
}

/* Starts RATE threads a second, in groups of ten, each of which ends at once. */
void churn(long rate)
{
    pthread_t threads[10];
    size_t n = sizeof threads / sizeof *threads;
    int64_t next_ns = now_ns();
    for (;;) {
        for (size_t i = 0; i < n; i++)
            if (pthread_create(&threads[i], NULL, end_at_once, NULL) != 0)
                abort();
        for (size_t i = 0; i < n; i++)
            pthread_join(threads[i], NULL);
        next_ns += (int64_t)n * 1000000000 / rate;
        struct timespec next = {.tv_sec = next_ns / 1000000000, .tv_nsec = next_ns % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
}

#ifdef SPIN_MAIN
int main(void)
{
    return spin(0);
}
#endif
