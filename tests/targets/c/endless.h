/* A function that never returns: it calls, without end, a step that blocks. */
#pragma once

#include "ready.h"

NOINLINE static void blocks(void)
{
    say_ready();
    wait_for_test();
}

NOINLINE static void step(volatile int *n)
{
    ++*n;
    blocks();
    if (*n)
        _exit(0);
}

__attribute__((noreturn)) NOINLINE static void endless(void)
{
    volatile int n = 0;
    for (;;)
        step(&n);
}
