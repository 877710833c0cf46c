#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t read_ns(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t clock_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_utc_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

int64_t clock_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

void clock_sleep(int64_t ns)
{
    if (ns > 0)
        (void)nanosleep(&(struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S},
                        NULL);
}

void clock_utc_text(char ret[CLOCK_UTC_BYTES])
{
    clock_utc_text_of(clock_utc_ns(), ret);
}

void clock_utc_text_of(int64_t utc_ns, char ret[CLOCK_UTC_BYTES])
{
    time_t seconds = utc_ns / NS_PER_S;
    struct tm utc;
    if (!gmtime_r(&seconds, &utc) || !strftime(ret, CLOCK_UTC_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc))
        *ret = '\0';
}

void clock_utc_ms_text(int64_t utc_ns, char ret[CLOCK_UTC_BYTES])
{
    clock_utc_text_of(utc_ns, ret);
    size_t len = strlen(ret);
    if (len)
        (void)snprintf(ret + len - 1, CLOCK_UTC_BYTES - len + 1, ".%03dZ",
                       (int)(utc_ns % NS_PER_S / NS_PER_MS));
}
