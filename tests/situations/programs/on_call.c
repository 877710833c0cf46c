/* A daemon without work: main waits for signals, three threads wait for jobs that a signal would
 * bring.  Healthy. */
#include "steady.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { THREADS = 3 };

static pthread_mutex_t jobs = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t come = PTHREAD_COND_INITIALIZER;
static struct steady run;

static void *serve(void *unused)
{
    pthread_mutex_lock(&jobs);
    while (steady_goes_on(&run))
        pthread_cond_wait(&come, &jobs);
    pthread_mutex_unlock(&jobs);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &wanted, NULL);
    run = steady_begin(argc, argv);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, serve, NULL) == 0)
            pthread_setname_np(threads[i], "serve");
    while (steady_goes_on(&run)) {
        const struct timespec most = {.tv_sec = (time_t)(run.end_s - now()) + 1};
        (void)sigtimedwait(&wanted, NULL, &most);
    }
    pthread_cond_broadcast(&come);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    steady_tell("threads", THREADS);
    return 0;
}
