/* What the programs in C and C++ share: how long they run, and their own account of their time. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double end_s, start_s;

static inline double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* From here on the program does the same all the time. */
static inline void ready(char **argv)
{
    puts("ready");
    fflush(stdout);
    start_s = now_s();
    end_s = start_s + atof(argv[1]);
}

static inline int goes_on(void)
{
    return now_s() < end_s;
}

/* Computes for about that long. */
static inline void compute(double seconds)
{
    volatile unsigned x = 1;
    for (double end = now_s() + seconds; now_s() < end;)
        for (int i = 0; i < 200; i++)
            x = x * 1664525U + 1013904223U;
}

static inline void rest(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

/* SECONDS at PLACE: of all that time, or the mean of alike threads. */
static inline void tell(const char *place, double seconds)
{
    printf("{\"wall\": %.3f, \"%s\": %.3f}\n", now_s() - start_s, place, seconds);
}
