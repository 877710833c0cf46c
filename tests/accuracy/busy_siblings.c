/* busy_siblings N SECONDS: a thread computes for 6 ms and sleeps for 2, in turn, among N that wake
 * up all the time.  Says for what share of its time it slept. */
#include "tests/support/clock.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORK_NS = 6000000, NAP_NS = 2000000, OTHERS_NS = 9000000 };

static volatile long sink;

static __attribute__((noinline)) void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

static __attribute__((noinline)) void work(void)
{
    for (int64_t end = now_ns() + WORK_NS; now_ns() < end;)
        for (int i = 0; i < 20000; i++)
            sink += i;
}

static void *other_main(void *unused)
{
    for (;;)
        (void)nanosleep(&(struct timespec){.tv_nsec = OTHERS_NS}, NULL);
    return unused;
}

static __attribute__((noinline)) double work_and_nap(int64_t ns)
{
    int64_t asleep_ns = 0;
    int64_t begun_ns = now_ns();
    while (now_ns() - begun_ns < ns) {
        work();
        int64_t start_ns = now_ns();
        nap();
        asleep_ns += now_ns() - start_ns;
    }
    return (double)asleep_ns / (double)(now_ns() - begun_ns);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    for (int i = 0; i < atoi(argv[1]); i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, other_main, NULL))
            return 1;
    }
    (void)printf("%.4f\n", work_and_nap(atoi(argv[2]) * INT64_C(1000000000)));
    return 0;
}
