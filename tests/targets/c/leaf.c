/* Busy in a function that calls nothing.
 * STACK: leaf middle main [libc.so.6] __libc_start_main _start */
#include "ready.h"

NOINLINE static unsigned leaf(unsigned n)
{
    for (volatile unsigned i = 0;; i++)
        n += i;
    return n;
}

NOINLINE static unsigned middle(unsigned n)
{
    n = leaf(n) + 1;
    NOT_A_TAIL();
    return n;
}

int main(void)
{
    say_ready();
    return (int)middle(3);
}
