/* Stands in for libcudart and a GPU: work that takes a while without a CPU, and a call that waits
 * for its end as CUDA's does: by asking again and again, or asleep if cudaSetDeviceFlags() says
 * so. */
#include "cudart_spins.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

enum { BLOCKING_SYNC = 4 };

static bool sleeps;
static struct timespec done;

int cudaSetDeviceFlags(unsigned flags)
{
    sleeps = flags & BLOCKING_SYNC;
    return 0;
}

void launch_ms(long ms)
{
    clock_gettime(CLOCK_MONOTONIC, &done);
    done.tv_nsec += ms * 1000000;
    done.tv_sec += done.tv_nsec / 1000000000;
    done.tv_nsec %= 1000000000;
}

static bool is_done(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec > done.tv_sec || (t.tv_sec == done.tv_sec && t.tv_nsec >= done.tv_nsec);
}

int cudaStreamSynchronize(void *stream)
{
    (void)stream;
    while (sleeps && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &done, NULL) == EINTR)
        ;
    while (!is_done())
        ;
    return 0;
}
