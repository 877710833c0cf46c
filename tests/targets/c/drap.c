/* Blocked below a function that realigns its stack and also uses alloca.
 * STACK: read blocks realigned caller main [libc.so.6] __libc_start_main _start */
#include <alloca.h>
#include <stdint.h>

#include "ready.h"

NOINLINE static void blocks(char *a, char *b)
{
    __asm__ volatile("" ::"r"(a), "r"(b) : "memory");
    say_ready();
    wait_for_test();
}

NOINLINE static int realigned(int n, int a, int b, int c, int d, int e, int on_stack)
{
    _Alignas(64) char aligned[128];
    char *more = alloca((size_t)n * 16);
    if ((uintptr_t)aligned % 64)
        _exit(1);
    blocks(aligned, more);
    NOT_A_TAIL();
    return aligned[n] + more[0] + a + b + c + d + e + on_stack;
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
