/* Goes through much of libc, and through signals, once the test says so: to be single-stepped. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ready.h"

static volatile int signals;

static void handler(int signal)
{
    signals += signal;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

NOINLINE static double realigned(double x)
{
    _Alignas(64) volatile double copy[8] = {x};
    char text[64];
    snprintf(text, sizeof text, "%.3f %d", copy[0], 42);
    return strtod(text, NULL);
}

int main(void)
{
    static int numbers[12];
    struct timespec now;
    say_ready();
    wait_for_test();
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    for (int i = 0; i < 12; i++)
        numbers[i] = i * 7919 % 101;
    qsort(numbers, 12, sizeof *numbers, compare);
    char *copy = strdup("some text");
    double x = realigned(numbers[7]);
    free(copy);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int)x + (int)now.tv_sec + signals + numbers[3];
}
