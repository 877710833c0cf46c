/* Blocked below a function that realigns its stack by a constant amount below rbp
 * (DRAP=1: and keeps where its arguments are, because it passes some on the stack).
 * STACK: read blocks realigned caller main [libc.so.6] __libc_start_main _start */
#include <stdint.h>

#include "ready.h"

#ifdef DRAP
#define MORE       , 1, 2, 3, 4, 5, n
#define MORE_TYPES , int b, int c, int d, int e, int f, int g
#else
#define MORE
#define MORE_TYPES
#endif

NOINLINE static void blocks(char *a MORE_TYPES)
{
    __asm__ volatile("" ::"r"(a) : "memory");
    say_ready();
    wait_for_test();
}

NOINLINE static int realigned(int n, int a, int b, int c, int d, int e, int on_stack)
{
    _Alignas(64) char aligned[128];
    if ((uintptr_t)aligned % 64)
        _exit(1);
    blocks(aligned MORE);
    NOT_A_TAIL();
    return aligned[n] + a + b + c + d + e + on_stack;
}

NOINLINE static int caller(int n)
{
    n = realigned(n, 1, 2, 3, 4, 5, 6);
    NOT_A_TAIL();
    return n;
}

int main(int argc, char **argv)
{
    (void)argv;
    int n = caller(argc);
    NOT_A_TAIL();
    return n;
}
