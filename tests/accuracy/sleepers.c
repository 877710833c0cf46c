/* Ten thousand threads of which hardly any runs.
 *
 * usage: sleepers turns SECONDS THREADS   one after the other computes for 5 ms and sleeps; half of
 *                                      the CPUs compute.  Prints of each function: name, CPU time
 *        sleepers idle SECONDS THREADS    all sleep but some that compute on half of the CPUs
 * "ready" is printed when all threads are there. */
#include "tests/support/clock.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 50000, MOST_BUSY = 4, PARSE_US = 3500, STORE_US = 1500 };

static int n_threads;
static sem_t turns[MOST];
static _Atomic int64_t parse_ns, store_ns;

static __attribute__((noinline)) void compute_until(int64_t end_ns)
{
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
        compute_steps(1000);
}

static __attribute__((noinline)) void parse(void)
{
    int64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    compute_until(begin_ns + PARSE_US * INT64_C(1000));
    parse_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

static __attribute__((noinline)) void store(void)
{
    int64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    compute_until(begin_ns + STORE_US * INT64_C(1000));
    store_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

static void *take_turns(void *turn)
{
    sem_t *next = (sem_t *)turn + 1 < turns + n_threads ? (sem_t *)turn + 1 : turns;
    for (;;) {
        while (sem_wait(turn) != 0)
            continue;
        parse();
        store();
        sem_post(next);
    }
    return NULL;
}

static void *spin(void *unused)
{
    for (;;)
        compute_steps(1000);
    return unused;
}

static void start(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 16);
    if (pthread_create(&thread, &attributes, run, argument) != 0) {
        printf("no more threads\n");
        exit(77);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    int takes_turns = strcmp(argv[1], "turns") == 0;
    n_threads = atoi(argv[3]);
    if (n_threads < 1 || n_threads > MOST)
        return 2;
    for (int i = 0; i < n_threads; i++)
        sem_init(&turns[i], 0, 0);
    for (int i = 0; i < n_threads; i++)
        start(take_turns, &turns[i]);
    long at_once = sysconf(_SC_NPROCESSORS_ONLN) / 2;
    at_once = at_once > 1 ? at_once : 1;
    for (long i = 0; i < at_once && i < MOST_BUSY && !takes_turns; i++)
        start(spin, NULL);
    for (long i = 0; i < at_once && takes_turns; i++)
        sem_post(&turns[i * n_threads / at_once]);
    printf("ready\n");
    fflush(stdout);
    double end = now_s() + strtod(argv[2], NULL);
    while (now_s() < end)
        usleep(10000);
    if (takes_turns)
        printf("parse %f\nstore %f\n", (double)parse_ns / 1e9, (double)store_ns / 1e9);
    fflush(stdout);
    _exit(0);
}
