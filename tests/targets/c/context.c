/* Blocks on a stack that makecontext(3) made: below it lies nothing.
 * STACK: read blocks on_context [libc.so.6] */
#include <stdlib.h>
#include <ucontext.h>

#include "ready.h"

static ucontext_t outside, inside;

NOINLINE static void blocks(void)
{
    say_ready();
    wait_for_test();
}

static void on_context(void)
{
    blocks();
    NOT_A_TAIL();
}

int main(void)
{
    enum { STACK_BYTES = 1 << 16, ODD = 1032 };
    char *stack = malloc(STACK_BYTES);
    if (!stack || getcontext(&inside))
        return 1;
    inside.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK_BYTES - ODD};
    inside.uc_link = &outside;
    makecontext(&inside, on_context, 0);
    if (swapcontext(&outside, &inside))
        return 1;
    free(stack);
    return 0;
}
