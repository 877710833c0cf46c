/* Blocked 2,000 calls deep.
 * STACK: read bottom recurses*2000 main [libc.so.6] __libc_start_main _start */
#include "ready.h"

NOINLINE static int bottom(int n)
{
    say_ready();
    wait_for_test();
    return n;
}

NOINLINE static int recurses(int left)
{
    volatile char text[100];
    text[0] = (char)left;
    int n = left > 1 ? recurses(left - 1) : bottom(left);
    NOT_A_TAIL();
    return n + text[0];
}

int main(void)
{
    int n = recurses(2000);
    NOT_A_TAIL();
    return n;
}
