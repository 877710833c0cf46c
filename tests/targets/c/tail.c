/* Blocked in a function that was jumped to, and its caller's caller was too: neither jumper is on
 * the stack any more.
 * STACK: read last first main [libc.so.6] __libc_start_main _start */
#include "ready.h"

NOINLINE static int last(int n)
{
    say_ready();
    wait_for_test();
    return n + 1;
}

NOINLINE static int jumps_to_last(int n)
{
    return last(n * 2);
}

NOINLINE static int first(int n)
{
    n = jumps_to_last(n + 3);
    NOT_A_TAIL();
    return n;
}

NOINLINE static int jumps_to_first(int n)
{
    return first(n - 1);
}

int main(int argc, char **argv)
{
    (void)argv;
    int n = jumps_to_first(argc);
    NOT_A_TAIL();
    return n;
}
