/* Stands in for libcuda where there is no GPU: the driver's exported functions, whose inner ones
 * have no names, as in the real one.  What a GPU does takes its time without a CPU; what the driver
 * does for it takes a CPU: copies of memory that is not pinned go through a buffer of its own,
 * memory comes from the kernel, a launch rings a doorbell. */
#include "cuda_driver.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define INNER static __attribute__((noinline))

enum { STAGED = 1 << 16, PINNED_MOST = 8, BLOCKING_SYNC = 1 };

static char staging[STAGED];
static struct {
    const char *begin, *end;
} pinned[PINNED_MOST];
static size_t n_pinned;
static volatile unsigned doorbell;

INNER void stage(const char *from, char *to, size_t n)
{
    for (size_t at = 0; at < n; at += STAGED) {
        size_t part = n - at < STAGED ? n - at : STAGED;
        memcpy(staging, from + at, part);
        memcpy(to + at, staging, part);
    }
    doorbell++;
}

INNER int copy(const char *from, char *to, size_t n, const char *host)
{
    for (size_t i = 0; i < n_pinned; i++)
        if (host >= pinned[i].begin && host < pinned[i].end)
            return 0; /* the device takes it by itself */
    stage(from, to, n);
    return 0;
}

int cuMemcpyHtoDAsync_v2(void *device, const void *host, size_t n, void *stream)
{
    (void)stream;
    return copy(host, device, n, host);
}

int cuMemcpyDtoHAsync_v2(void *host, const void *device, size_t n, void *stream)
{
    (void)stream;
    return copy(device, host, n, host);
}

int cuMemHostAlloc(void **ret, size_t n, unsigned flags)
{
    (void)flags;
    *ret = aligned_alloc(STAGED, n);
    if (*ret && n_pinned < PINNED_MOST) {
        pinned[n_pinned].begin = *ret;
        pinned[n_pinned++].end = (char *)*ret + n;
    }
    return *ret ? 0 : ENOMEM;
}

/* The kernel's part of it takes a CPU, and no page faults. */
INNER void ask_kernel(int times)
{
    static int fds[2];
    int n = 0;
    if (fds[1] == 0 && pipe(fds) != 0)
        return;
    for (int i = 0; i < times && ioctl(fds[0], FIONREAD, &n) == 0; i++)
        doorbell += (unsigned)n;
}

int cuMemAlloc_v2(void **ret, size_t n)
{
    ask_kernel(1500);
    *ret = malloc(n);
    return *ret ? 0 : ENOMEM;
}

int cuMemFree_v2(void *device)
{
    ask_kernel(1000);
    free(device);
    return 0;
}

INNER void push(const void *arguments)
{
    for (unsigned i = 0; i < 600; i++)
        doorbell += i ^ (unsigned)(size_t)arguments;
}

int cuLaunchKernel(const void *function, unsigned blocks, const void *arguments)
{
    (void)function;
    (void)blocks;
    push(arguments);
    return 0;
}

int cuGraphLaunch(void *graph, void *stream)
{
    (void)stream;
    push(graph);
    return 0;
}

INNER int sleep_until_done(int timer)
{
    struct pollfd done = {.fd = timer, .events = POLLIN};
    while (poll(&done, 1, -1) < 0 && errno == EINTR)
        ;
    return 0;
}

INNER void ask_until_done(int timer)
{
    struct itimerspec left;
    while (timerfd_gettime(timer, &left) == 0 &&
           (left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0))
        ;
}

int cuEventCreate(int *ret, unsigned flags)
{
    (void)flags;
    *ret = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    return *ret < 0 ? errno : 0;
}

int cuEventRecord(int event, long ms)
{
    struct itimerspec end = {.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}};
    return timerfd_settime(event, 0, &end, NULL);
}

int cuEventSynchronize(int event, unsigned flags)
{
    if (flags & BLOCKING_SYNC)
        return sleep_until_done(event);
    ask_until_done(event);
    return 0;
}
