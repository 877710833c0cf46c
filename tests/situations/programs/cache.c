/* A server answers from a cache.  The culprit: the thread that refreshes the cache keeps the
 * cache's mutex while it waits for the data base; the twin waits first and takes the mutex then. */
#include "steady.h"

#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static unsigned entries[1024];
static struct steady run;

static void query(void)
{
    usleep(150000);
}

static void store(void)
{
    for (unsigned i = 0; i < 1024; i++)
        entries[i]++;
}

static void *refresh(void *unused)
{
    while (steady_goes_on(&run)) {
        if (run.twin)
            query();
        pthread_mutex_lock(&table);
        if (!run.twin)
            query();
        store();
        pthread_mutex_unlock(&table);
        usleep(20000);
    }
    return unused;
}

static unsigned look_up(unsigned key)
{
    pthread_mutex_lock(&table);
    unsigned value = entries[key % 1024];
    pthread_mutex_unlock(&table);
    return value;
}

static unsigned respond(unsigned key)
{
    unsigned text = key;
    for (int i = 0; i < 100000; i++)
        text = text * 1664525U + 1013904223U;
    return text;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    double waited_s = 0;
    unsigned sum = 0;
    run = steady_begin(argc, argv);
    if (pthread_create(&thread, NULL, refresh, NULL) != 0)
        return 1;
    pthread_setname_np(thread, "refresh");
    while (steady_goes_on(&run)) {
        double start_s = now();
        sum += look_up(sum);
        waited_s += now() - start_s;
        sum += respond(sum);
    }
    pthread_join(thread, NULL);
    steady_tell("share", steady_per_second(&run, waited_s));
    return sum == 1;
}
