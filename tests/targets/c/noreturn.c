/* Blocked below a call that is the last instruction of its function: the return address belongs to
 * the next function, which has another frame.
 * STACK: read never_returns ends_in_call main [libc.so.6] __libc_start_main _start */
#include "ready.h"

__attribute__((noinline, noclone, noreturn)) static void never_returns(int n)
{
    say_ready();
    wait_for_test();
    _exit(n);
}

NOINLINE int ends_in_call(int n)
{
    volatile char text[200];
    text[n] = 1;
    never_returns(text[n]);
}

NOINLINE int next_function(int n)
{
    return n * 3;
}

int main(int argc, char **argv)
{
    (void)argv;
    int n = ends_in_call(argc);
    NOT_A_TAIL();
    return n + next_function(n);
}
