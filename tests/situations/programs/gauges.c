/* Notes what gauges read, in memory that another process tidies up.  The culprit: that one keeps
 * their mutex while it adds everything up; the twin adds up a copy. */
#include "steady.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum { READINGS = 4096, ROUNDS = 12000 };
struct gauges {
    pthread_mutex_t mutex;
    volatile long sum;
    long readings[READINGS];
};

static struct gauges *gauges_new(void)
{
    FILE *file = tmpfile();
    pthread_mutexattr_t shared;
    if (!file || ftruncate(fileno(file), sizeof(struct gauges)) < 0)
        abort();
    struct gauges *g = mmap(NULL, sizeof *g, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    if (g == MAP_FAILED)
        abort();
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&g->mutex, &shared);
    return g;
}

static long add_up(const long *readings)
{
    long sum = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < READINGS; i++)
            sum += readings[i] * round;
    return sum;
}

static void tidy_up(struct gauges *g, const struct steady *run)
{
    static long copy[READINGS];
    while (steady_goes_on(run)) {
        pthread_mutex_lock(&g->mutex);
        if (run->twin)
            memcpy(copy, g->readings, sizeof copy);
        else
            g->sum = add_up(g->readings);
        pthread_mutex_unlock(&g->mutex);
        if (run->twin)
            g->sum = add_up(copy);
        usleep(500);
    }
}

static void note_reading(struct gauges *g, long reading)
{
    pthread_mutex_lock(&g->mutex);
    g->readings[reading % READINGS] = reading;
    pthread_mutex_unlock(&g->mutex);
}

int main(int argc, char **argv)
{
    struct gauges *g = gauges_new();
    const struct steady run = steady_begin(argc, argv);
    if (steady_fork_apart()) {
        tidy_up(g, &run);
        _exit(0);
    }
    double waited_s = 0;
    for (long n = 0; steady_goes_on(&run); n++) {
        double start = now();
        note_reading(g, n);
        waited_s += now() - start;
        usleep(5000);
    }
    steady_tell("share", steady_per_second(&run, waited_s));
}
