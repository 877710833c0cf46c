/* Blocked in a function that was called through a pointer.  OMIT: its caller has no frame pointer,
 * so that nothing but the chain speaks for it.
 * STACK: read blocks calls main [libc.so.6] __libc_start_main _start */
#include "ready.h"

NOINLINE static int blocks(int n)
{
    say_ready();
    wait_for_test();
    return n + 1;
}

static int (*volatile pointer)(int) = blocks;

#ifdef OMIT
__attribute__((optimize("omit-frame-pointer")))
#endif
NOINLINE static int
calls(int n)
{
    n = pointer(n + 3);
    NOT_A_TAIL();
    return n;
}

int main(int argc, char **argv)
{
    (void)argv;
    int n = calls(argc);
    NOT_A_TAIL();
    return n;
}
