/* Starts a thread when the test lets it go on.
 * STACK: clone starts main [libc.so.6] __libc_start_main _start */
#include <sched.h>

#include "ready.h"

static int thread_main(void *arg)
{
    (void)arg;
    for (;;)
        pause();
}

NOINLINE static int starts(char *stack_end)
{
    int tid = clone(thread_main, stack_end, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, NULL);
    NOT_A_TAIL();
    return tid;
}

int main(void)
{
    static char stack[1 << 16];
    say_ready();
    wait_for_test();
    if (starts(stack + sizeof stack) < 0)
        return 1;
    wait_for_test();
    return 0;
}
