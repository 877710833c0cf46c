/* Four threads row in time.  The culprit: who is early asks again and again whether all have come,
 * and keeps the others from the CPUs; in the twin it sleeps until the last one comes. */
#include "steady.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 4, PULLS = 40000 };
static struct steady run;
static pthread_barrier_t sleeping;
static atomic_uint arrived, stroke;
static atomic_bool over;

static __attribute__((noinline)) void wait_for_stroke(unsigned mine)
{
    while (atomic_load_explicit(&stroke, memory_order_acquire) == mine)
        ;
}

static void meet(void)
{
    unsigned mine = atomic_load(&stroke);
    if (run.twin) {
        pthread_barrier_wait(&sleeping);
        return;
    }
    if (atomic_fetch_add(&arrived, 1) + 1 < THREADS) {
        wait_for_stroke(mine);
        return;
    }
    atomic_store(&arrived, 0);
    atomic_fetch_add(&stroke, 1);
}

static __attribute__((noinline)) unsigned pull(unsigned force)
{
    for (int i = 0; i < PULLS; i++)
        force = force * 1664525U + 1013904223U;
    return force;
}

/* The first one decides whether there is another stroke, between two meetings: all do as many. */
static void *rower(void *seat)
{
    double waited_s = 0;
    unsigned force = 1;
    bool first = seat == &arrived;
    while (!atomic_load(&over)) {
        force = pull(force);
        double start_s = now();
        meet(); /* all have seen that it was not over */
        if (first && !steady_goes_on(&run))
            atomic_store(&over, true);
        meet();
        waited_s += now() - start_s;
    }
    if (first)
        steady_tell("share", steady_per_second(&run, waited_s));
    return force == 7 ? seat : NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&sleeping, NULL, THREADS);
    run = steady_begin(argc, argv);
    for (int i = 0; i < THREADS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "rower-%d", i);
        if (pthread_create(&threads[i], NULL, rower, i ? NULL : &arrived) != 0)
            return 1;
        pthread_setname_np(threads[i], name);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
