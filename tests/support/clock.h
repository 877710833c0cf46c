/* Clocks, and time to spend, of programs that are looked at. */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static inline int64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static inline double clock_s(clockid_t clock)
{
    return (double)clock_ns(clock) / 1e9;
}

static inline double now_s(void)
{
    return clock_s(CLOCK_MONOTONIC);
}

/* For how long the calling thread has waited for a CPU so far, by the kernel. */
static inline double queue_s(void)
{
    static __thread int fd = -1;
    char text[128] = "";
    if (fd < 0)
        fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    const char *second = n > 0 ? strchr(text, ' ') : NULL; /* of three numbers */
    return second ? strtod(second, NULL) / 1e9 : 0;
}

/* Keeps the CPU busy for N steps of about a nanosecond.  In a register: threads that wrote one
 * variable would take its cache line from each other, and be slow by that. */
static inline void compute_steps(int n)
{
    unsigned long value = 1;
    for (int i = 0; i < n; i++) {
        value = value * 2862933555777941757UL + 3037000493UL;
        __asm__ volatile("" : "+r"(value));
    }
}
