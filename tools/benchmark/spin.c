/* Spins, reading the clock, and so sees when it was held: the target of tools/bench.
 * A hold is a gap of 2 µs or more between two clock reads in which the thread's voluntary context
 * switches rose: this code never gives up the CPU itself, so only a stop can have done it.  What of
 * a gap was waiting for a CPU, by schedstat, is given beside it.
 * SIGUSR1 starts the counting, SIGTERM ends it; then one line of JSON goes to stdout. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { HOLD_NS = 2000, MAX_HOLDS = 1 << 20 };

static struct hold {
    int64_t at_ns, length_ns, queued_ns;
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

static void print(size_t n, long stops, long detected, int64_t loops, int64_t start_ns,
                  int64_t end_ns)
{
    printf("{\"stops\": %ld, \"detected\": %ld, \"loops\": %jd, \"start_ns\": %jd, "
           "\"end_ns\": %jd, \"holds\": [",
           stops, detected, (intmax_t)loops, (intmax_t)start_ns, (intmax_t)end_ns);
    for (size_t i = 0; i < n; i++)
        printf("%s[%jd, %jd, %jd]", i ? ", " : "", (intmax_t)holds[i].at_ns,
               (intmax_t)holds[i].length_ns, (intmax_t)holds[i].queued_ns);
    printf("]}\n");
    fflush(stdout);
}

static void measure(void)
{
    int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    int64_t queued_before_ns = queued_ns(schedstat);
    size_t n = 0;
    long first = voluntary_switches();
    long seen = first;
    long detected = 0;
    int64_t loops = 0;
    int64_t start_ns = now_ns();
    int64_t last_ns = start_ns;
    while (!ended) {
        int64_t t = now_ns();
        loops++;
        if (t - last_ns >= HOLD_NS) {
            long switches = voluntary_switches();
            int64_t queued = queued_ns(schedstat);
            if (switches != seen && n < MAX_HOLDS) {
                holds[n++] = (struct hold){last_ns, t - last_ns, queued - queued_before_ns};
                detected += switches - seen;
            }
            /* What came between the last two reads was not seen as a gap. */
            t = now_ns();
            seen = switches;
            queued_before_ns = queued;
        }
        last_ns = t;
    }
    print(n, voluntary_switches() - first, detected, loops, start_ns, last_ns);
}

/* Noinline and with work after the call, so that each level is a frame. */
__attribute__((noinline)) static int descend(int depth)
{
    if (depth == 0) {
        while (!begun)
            ;
        measure();
        return 0;
    }
    int r = descend(depth - 1);
    __asm__ volatile("" : "+r"(r));
    return r + 1;
}

/* Measures DEPTH calls deep, from SIGUSR1 to SIGTERM. */
int spin(int depth)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    puts("ready");
    fflush(stdout);
    return descend(depth);
}

#ifdef SPIN_MAIN
int main(void)
{
    return spin(0);
}
#endif
