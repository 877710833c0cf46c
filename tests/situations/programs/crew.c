/* Threads that do the same: requests come at a steady pace, each takes some computing.  Healthy:
 * all of them together leave half of two CPUs idle. */
#include "steady.h"

#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4 };

static struct steady run;
static double busy_s[THREADS];

static unsigned respond(unsigned request)
{
    for (double end_s = now() + 0.0025; now() < end_s;)
        for (int i = 0; i < 1000; i++)
            request = request * 1664525U + 1013904223U;
    return request;
}

static void *work(void *mine)
{
    double *mine_s = (double *)mine;
    unsigned request = 1;
    while (steady_goes_on(&run)) {
        usleep(7500);
        double start_s = now();
        request = respond(request);
        *mine_s += now() - start_s;
    }
    return request == 0 ? mine : NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    run = steady_begin(argc, argv);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &busy_s[i]) == 0)
            pthread_setname_np(threads[i], "work");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    steady_tell("busy",
                steady_per_second(&run, (busy_s[0] + busy_s[1] + busy_s[2] + busy_s[3]) / THREADS));
    return 0;
}
