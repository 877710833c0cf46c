/* Threads that use known amounts of CPU, and say what the kernel counted for them.
 *
 * usage: burn own      three threads that burn 0.8, 1.6 and 2.4 s by CLOCK_THREAD_CPUTIME_ID,
 *                      napping in between
 *        burn fight    four threads that never stop for 6 s, on two CPUs
 *
 * All threads are there, waiting, for a while before and after, so that whoever watches has seen
 * them.  Prints per thread, in order: name, CPU time by its clock, user and system time by
 * getrusage, time in the run queue by schedstat, wall time (all in seconds). */
#include "tests/support/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 4 };

struct burner {
    pthread_t thread;
    char name[16];
    double burn_s, fight_s; /* one of them */
    double cpu_s, usage_s, queue_s, wall_s;
};

static pthread_barrier_t meeting; /* of all threads and main: at the start, when done, at the end */

static void nap(long ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

static double usage_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* In three parts, a nap after each. */
static void burn_own(double s)
{
    for (int part = 1; part <= 3; part++) {
        while (clock_s(CLOCK_THREAD_CPUTIME_ID) < s * part / 3)
            compute_steps(20000);
        nap(100);
    }
}

static void fight(double s)
{
    double until = now_s() + s;
    while (now_s() < until)
        compute_steps(20000);
}

static void *run(void *argument)
{
    struct burner *b = argument;
    pthread_setname_np(pthread_self(), b->name);
    double born = now_s();
    pthread_barrier_wait(&meeting);
    if (b->burn_s > 0)
        burn_own(b->burn_s);
    else
        fight(b->fight_s);
    b->cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
    b->usage_s = usage_seconds();
    b->queue_s = queue_s();
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    b->wall_s = now_s() - born;
    return NULL;
}

/* Of those this process may use, the first two. */
static void stay_on_two_cpus(void)
{
    cpu_set_t all;
    cpu_set_t two;
    unsigned n = 0;
    CPU_ZERO(&two);
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    for (unsigned i = 0; i < CPU_SETSIZE && n < 2; i++)
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &two);
            n++;
        }
    sched_setaffinity(0, sizeof two, &two);
}

int main(int argc, char **argv)
{
    bool fighting = argc > 1 && strcmp(argv[1], "fight") == 0;
    unsigned n = fighting ? MOST_THREADS : 3;
    struct burner burners[MOST_THREADS] = {0};
    if (fighting)
        stay_on_two_cpus();
    pthread_barrier_init(&meeting, NULL, n + 1);
    for (unsigned i = 0; i < n; i++) {
        struct burner *b = &burners[i];
        snprintf(b->name, sizeof b->name, "burner-%hhu", (unsigned char)(i + 1));
        if (fighting)
            b->fight_s = 9;
        else
            b->burn_s = 0.8 * (i + 1);
        pthread_create(&b->thread, NULL, run, b);
    }
    nap(200);
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    nap(200);
    pthread_barrier_wait(&meeting);
    for (unsigned i = 0; i < n; i++) {
        struct burner *b = &burners[i];
        pthread_join(b->thread, NULL);
        printf("%s %f %f %f %f\n", b->name, b->cpu_s, b->usage_s, b->queue_s, b->wall_s);
    }
    return 0;
}
