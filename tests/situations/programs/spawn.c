/* A thread per request; each lives for two milliseconds.  Healthy. */
#include "steady.h"

#include <pthread.h>
#include <unistd.h>

static volatile unsigned answers;

static void *answer(void *unused)
{
    for (double end_s = now() + 0.002; now() < end_s;)
        answers = answers * 3 + 1;
    return unused;
}

static unsigned read_request(unsigned request)
{
    for (double end_s = now() + 0.004; now() < end_s;)
        request = request * 1664525U + 1013904223U;
    return request;
}

int main(int argc, char **argv)
{
    struct steady run = steady_begin(argc, argv);
    double threads = 0;
    unsigned request = 1;
    while (steady_goes_on(&run)) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, answer, NULL) != 0)
            return 1;
        request = read_request(request);
        pthread_join(thread, NULL);
        threads++;
    }
    steady_tell("threads_per_s", steady_per_second(&run, threads));
    return request == 1;
}
