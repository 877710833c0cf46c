/* N threads one after another: each starts the next and ends, so that there are always as many.
 * Each lives for MS milliseconds, and every other one of them computes.  Says each thread's tid.
 *
 * usage: short_lived_threads N MS */
#include "tests/support/clock.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_MS = 1000000 };

static intptr_t n;
static int64_t life_ns;
static int done[2];

static void start(intptr_t number);

static void *live(void *number)
{
    intptr_t next = (intptr_t)number + 1;
    int64_t end_ns = now_ns() + life_ns;
    (void)printf("%d\n", gettid());
    for (int64_t left_ns; (left_ns = end_ns - now_ns()) > 0;)
        if (next % 2)
            (void)nanosleep(&(struct timespec){.tv_nsec = left_ns}, NULL);
    if (next < n)
        start(next);
    else
        (void)!write(done[1], "", 1);
    return NULL;
}

static void start(intptr_t number)
{
    pthread_t t;
    if (pthread_create(&t, NULL, live, (void *)number) != 0)
        abort();
    (void)pthread_detach(t);
}

int main(int argc, char **argv)
{
    char byte;
    if (argc != 3 || pipe(done) != 0)
        return 2;
    n = strtol(argv[1], NULL, 10);
    life_ns = strtol(argv[2], NULL, 10) * NS_PER_MS;
    start(0);
    return read(done[0], &byte, 1) != 1;
}
