/* One task wakes all threads, and all but one find nothing. */
#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "account.h"

enum { THREADS = 24 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static int tasks;
static bool done;

static void *taskq(void *nothing)
{
    pthread_setname_np(pthread_self(), "taskq");
    pthread_mutex_lock(&lock);
    while (!done) {
        if (tasks > 0)
            tasks--;
        else
            pthread_cond_wait(&some, &lock);
    }
    pthread_mutex_unlock(&lock);
    return nothing;
}

static void dispatch(bool last)
{
    pthread_mutex_lock(&lock);
    tasks++;
    done = last;
    pthread_cond_broadcast(&some);
    pthread_mutex_unlock(&lock);
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    struct rusage used;
    if (argc < 2)
        return 2;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, taskq, NULL);
    ready(argv);
    while (goes_on()) {
        dispatch(false);
        rest(0.0001);
    }
    dispatch(true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    getrusage(RUSAGE_SELF, &used);
    tell("system time", seconds_of(used.ru_stime));
}
