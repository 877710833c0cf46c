/* Blocked in a signal handler that interrupted a function which calls nothing.
 * STACK: read handler [libc.so.6] faults calls main [libc.so.6] __libc_start_main _start */
#include <signal.h>
#include <string.h>

#include "ready.h"

static void handler(int signal)
{
    (void)signal;
    say_ready();
    wait_for_test();
    _exit(0);
}

NOINLINE static int faults(volatile int *where)
{
    *where = 1;
    return 1;
}

NOINLINE static int calls(volatile int *where)
{
    int n = faults(where);
    NOT_A_TAIL();
    return n;
}

int main(int argc, char **argv)
{
    static char other_stack[1 << 16];
    struct sigaction action = {.sa_handler = handler};
    if (argc > 1 && strcmp(argv[1], "altstack") == 0) {
        const stack_t alternate = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
        sigaltstack(&alternate, NULL);
        action.sa_flags = SA_ONSTACK;
    }
    sigaction(SIGSEGV, &action, NULL);
    return calls(NULL);
}
