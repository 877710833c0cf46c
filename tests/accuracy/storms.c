/* A thread that takes page faults and one that sleeps and wakes, SECONDS long.  Says "ready", and
 * at the end for each what it counted: NAME, seconds, minor faults, voluntary switches, seconds of
 * user and of system time. */
#include "tests/support/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Both threads rest before and after, so that a look finds all counters at 0, and at their last. */
enum { BYTES = 4 << 20, PAGE = 4096, PAUSE_US = 2000, BEFORE_US = 1500000, AFTER_US = 2500000 };
static double length_s;

static void take_faults(void)
{
    char *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        abort();
    for (size_t i = 0; i < BYTES; i += PAGE)
        pages[i] = 1;
    (void)munmap(pages, BYTES);
}

static void sleep_a_little(void)
{
    (void)usleep(PAUSE_US);
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void storm(void (*work)(void), struct rusage *ret, double *ret_s)
{
    (void)usleep(BEFORE_US);
    double begun_s = now_s();
    while (now_s() - begun_s < length_s)
        work();
    *ret_s = now_s() - begun_s;
    (void)getrusage(RUSAGE_THREAD, ret);
    (void)usleep(AFTER_US);
}

static void tell(const char *name, const struct rusage *u, double s)
{
    printf("%s %f %ld %ld %f %f\n", name, s, u->ru_minflt, u->ru_nvcsw, seconds_of(u->ru_utime),
           seconds_of(u->ru_stime));
}

static struct rusage sleepers;
static double sleepers_s;

static void *sleeper(void *unused)
{
    (void)pthread_setname_np(pthread_self(), "sleeper");
    storm(sleep_a_little, &sleepers, &sleepers_s);
    return unused;
}

static struct rusage faulters;
static double faulters_s;

static void *faulter(void *unused)
{
    (void)pthread_setname_np(pthread_self(), "faulter");
    storm(take_faults, &faulters, &faulters_s);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    length_s = argc > 1 ? atof(argv[1]) : 1;
    puts("ready");
    (void)fflush(stdout);
    if (pthread_create(&threads[0], NULL, sleeper, NULL) != 0 ||
        pthread_create(&threads[1], NULL, faulter, NULL) != 0)
        return 1;
    (void)pthread_join(threads[0], NULL);
    (void)pthread_join(threads[1], NULL);
    tell("sleeper", &sleepers, sleepers_s);
    tell("faulter", &faulters, faulters_s);
    return 0;
}
