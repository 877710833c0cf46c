/* Calls a function of libc through the PLT for the first time, once the test says so.
 * STACK: calls_plt main [libc.so.6] __libc_start_main _start */
#include "ready.h"

NOINLINE static int calls_plt(int n)
{
    n += getppid();
    NOT_A_TAIL();
    return n;
}

int main(int argc, char **argv)
{
    (void)argv;
    say_ready();
    wait_for_test();
    int n = calls_plt(argc);
    NOT_A_TAIL();
    return n;
}
