/* Reads the clock all the time.  When stopped inside the vdso:
 * STACK: [vdso] clock_gettime reads_clock main [libc.so.6] __libc_start_main _start */
#include <time.h>

#include "ready.h"

NOINLINE static void reads_clock(void)
{
    struct timespec now;
    for (;;)
        clock_gettime(CLOCK_MONOTONIC, &now);
}

int main(void)
{
    say_ready();
    reads_clock();
    NOT_A_TAIL();
    return 0;
}
