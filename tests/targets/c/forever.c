/* The same as endless.c, in the main thread: main ends in a call that never returns, and _start may
 * follow it.
 * STACK: read blocks step endless main [libc.so.6] __libc_start_main _start */
#include "endless.h"

int main(void)
{
    endless();
}
