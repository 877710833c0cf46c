/* Merges what two threads make, each in its own way, both busy all the time.  Healthy; and nobody
 * is the one for whom main waits. */
#include "steady.h"

#include <pthread.h>
#include <semaphore.h>

static sem_t made;
static struct steady run;
static volatile unsigned sum;

static void *sort_part(void *unused)
{
    unsigned part = 1;
    while (steady_goes_on(&run)) {
        for (double end_s = now() + 0.02; now() < end_s;)
            part = part * 1664525U + 1013904223U;
        sum += part;
        sem_post(&made);
    }
    return unused;
}

static void *hash_part(void *unused)
{
    unsigned part = 1;
    while (steady_goes_on(&run)) {
        for (double end_s = now() + 0.02; now() < end_s;)
            part = (part ^ sum) * 16777619U;
        sum += part;
        sem_post(&made);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t sorter, hasher;
    double waited_s = 0;
    sem_init(&made, 0, 0);
    run = steady_begin(argc, argv);
    if (pthread_create(&sorter, NULL, sort_part, NULL) != 0 ||
        pthread_create(&hasher, NULL, hash_part, NULL) != 0)
        return 1;
    pthread_setname_np(sorter, "sorter");
    pthread_setname_np(hasher, "hasher");
    while (steady_goes_on(&run)) {
        double start_s = now();
        sem_wait(&made);
        waited_s += now() - start_s;
    }
    pthread_join(sorter, NULL);
    pthread_join(hasher, NULL);
    steady_tell("share", steady_per_second(&run, waited_s));
    return 0;
}
