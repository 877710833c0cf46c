/* Blocked a few calls deep.
 * STACK: read blocks inner outer main [libc.so.6] __libc_start_main _start */
#include "ready.h"

NOINLINE static int blocks(int n)
{
    say_ready();
    wait_for_test();
    return n + 1;
}

NOINLINE static int inner(int n, char *text)
{
    n = blocks(n) + text[n];
    NOT_A_TAIL();
    return n;
}

NOINLINE static int outer(int n)
{
    char text[300] = {0};
    __asm__ volatile("" ::"r"(text) : "memory");
    n = inner(n, text) + inner(n + 1, text);
    NOT_A_TAIL();
    return n;
}

int main(int argc, char **argv)
{
    (void)argv;
    int n = outer(argc);
    NOT_A_TAIL();
    return n;
}
