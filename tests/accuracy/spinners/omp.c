/* N OpenMP threads of which the first works, in work(), and the others wait at the barrier, SECONDS
 * long.  Says "ready", and at the end how long main worked: its CPU time in work(). */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TURNS = 4000000 };

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static __attribute__((noinline)) void work(void)
{
    for (volatile int i = 0; i < TURNS; i++)
        ;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int threads = (int)strtol(argv[1], NULL, 10);
    double end_s = seconds_of(CLOCK_MONOTONIC) + strtod(argv[2], NULL);
    double worked_s = 0;
    (void)puts("ready");
    (void)fflush(stdout);
    while (seconds_of(CLOCK_MONOTONIC) < end_s) {
#pragma omp parallel num_threads(threads)
        if (omp_get_thread_num() == 0) {
            double begun_s = seconds_of(CLOCK_THREAD_CPUTIME_ID);
            work();
            worked_s += seconds_of(CLOCK_THREAD_CPUTIME_ID) - begun_s;
        }
    }
    printf("%f\n", worked_s);
    return 0;
}
