/* The target of tools/soak: threads that work, and threads that come and go, in turns with another
 * such process.
 *
 * usage: churn PARITY WORKERS all|asleep FILE
 *
 * Works in the seconds of CLOCK_MONOTONIC whose number modulo 2 is PARITY, and sleeps in the
 * others.  WORKERS threads compute the same sum over and over; one more starts threads that live
 * from 0.2 to 20 ms, spinning or asleep, or all of them asleep.  At the end of its stdin it writes
 * what it saw to FILE, as JSON: rounds of each second, sums that came out wrong, waits that were
 * cut short, and the life of each thread. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SECONDS = 100000, MAX_LIVES = 4000000, ALIVE_AT_ONCE = 4, NS_PER_US = 1000 };
static const int64_t second_ns = 1000000000;

struct life {
    int tid;
    int64_t start_ns, end_ns;
};

static int parity;
static int64_t begun_s;
static _Atomic long rounds[MAX_SECONDS];
static _Atomic long wrong, interrupted, n_lives;
static struct life *lives;
static _Atomic int alive;
static int ways; /* of living: 0 is spinning */
static volatile uint64_t one = 1;
static uint64_t right;

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * second_ns + t.tv_nsec;
}

static void wait_for_turn(void)
{
    int64_t s = now_ns() / second_ns;
    if (s % 2 == parity)
        return;
    struct timespec until = {.tv_sec = s + 1};
    interrupted += clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0;
}

/* Some 100 µs. */
__attribute__((noinline)) static uint64_t compute(void)
{
    uint64_t sum = one;
    for (int i = 0; i < 60000; i++)
        sum = sum * 6364136223846793005 + (sum >> 40);
    return sum;
}

static void *worker_main(void *unused)
{
    (void)unused;
    for (;;) {
        wait_for_turn();
        wrong += compute() != right;
        int64_t s = now_ns() / second_ns - begun_s;
        if (s < MAX_SECONDS)
            rounds[s]++;
    }
    return NULL;
}

static void live(int64_t end_ns, int way)
{
    int64_t left_ns;
    while ((left_ns = end_ns - now_ns()) > 0) {
        struct timespec t = {.tv_nsec = left_ns};
        if (way == 0)
            (void)compute();
        else if (way == 1)
            interrupted += nanosleep(&t, NULL) != 0;
        else
            interrupted += poll(NULL, 0, (int)(left_ns / 1000000) + 1) != 0;
    }
}

static void *short_main(void *seed)
{
    struct life l = {.tid = gettid(), .start_ns = now_ns()};
    uint64_t random = (uint64_t)(uintptr_t)seed * 0x9e3779b97f4a7c15;
    live(l.start_ns + (int64_t)(200 + (random >> 32) % 19800) * NS_PER_US,
         (int)(random >> 20 & 0xffff) % ways + (3 - ways));
    l.end_ns = now_ns();
    long i = n_lives++;
    if (i < MAX_LIVES)
        lives[i] = l;
    alive--;
    return NULL;
}

static void *churner_main(void *unused)
{
    pthread_attr_t attr;
    (void)unused;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attr, 256 << 10);
    for (uintptr_t i = 1;; i++) {
        pthread_t t;
        wait_for_turn();
        alive++;
        if (pthread_create(&t, &attr, short_main, (void *)i))
            alive--;
        while (alive >= ALIVE_AT_ONCE)
            interrupted += usleep(1000) != 0;
        interrupted += usleep(4000) != 0;
    }
    return NULL;
}

static void write_all(FILE *out)
{
    long n = n_lives < MAX_LIVES ? n_lives : MAX_LIVES;
    int64_t seconds = now_ns() / second_ns - begun_s;
    fprintf(out, "{\"begun_s\":%ld,\"parity\":%d,\"wrong\":%ld,\"interrupted\":%ld,\"rounds\":[",
            (long)begun_s, parity, wrong, interrupted);
    for (int64_t i = 0; i < seconds && i < MAX_SECONDS; i++)
        fprintf(out, "%s%ld", i ? "," : "", rounds[i]);
    fputs("],\"lives\":[", out);
    for (long i = 0; i < n; i++)
        fprintf(out, "%s[%d,%ld,%ld]", i ? ",\n" : "", lives[i].tid, (long)lives[i].start_ns,
                (long)lives[i].end_ns);
    fputs("]}\n", out);
}

int main(int argc, char **argv)
{
    pthread_t t;
    char byte;
    if (argc != 5)
        return 2;
    parity = atoi(argv[1]);
    ways = strcmp(argv[3], "asleep") ? 3 : 2;
    begun_s = now_ns() / second_ns;
    right = compute();
    lives = calloc(MAX_LIVES, sizeof *lives);
    for (int i = 0; i < atoi(argv[2]); i++)
        if (pthread_create(&t, NULL, worker_main, NULL))
            return 1;
    if (!lives || pthread_create(&t, NULL, churner_main, NULL))
        return 1;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    FILE *out = fopen(argv[4], "w");
    if (!out)
        return 1;
    write_all(out);
    _exit(fclose(out) ? 1 : 0);
}
