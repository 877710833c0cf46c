/* The same as endless.c, in the main thread: main ends in a call that never returns, and _start may
 * follow it.
 * STACK: read blocks step endless main [libc.so.6] __libc_start_main _start */
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

int main(void)
{
    endless();
}
