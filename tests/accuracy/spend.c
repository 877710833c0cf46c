/* Places to spend wall time in, each a function of its own on the stack.  They return the time from
 * their first instruction to their last, in nanoseconds by CLOCK_MONOTONIC: the caller's own clock
 * would count what comes on top (ctypes, the GIL). */
#include "spend.h"

#include "tests/support/clock.h"

#include <alloca.h>
#include <errno.h>
#include <time.h>

/* Looks at the clock every millisecond or so, so nearly all samples are in the loop. */
int64_t spend_computing(int64_t ns)
{
    int64_t start = now_ns();
    while (now_ns() - start < ns)
        compute_steps(300000);
    return now_ns() - start;
}

/* Nearly all samples are in the vdso. */
int64_t spend_in_vdso(int64_t ns)
{
    int64_t start = now_ns();
    int64_t now = start;
    while (now - start < ns)
        now = now_ns();
    return now_ns() - start;
}

/* With room on the stack whose size is computed: only rbp leads to the caller, and a thread that
 * blocks has to be stopped once for its registers.  That must not cost what comes next. */
int64_t spend_sleeping(int64_t ns)
{
    volatile char *room = alloca((size_t)(1 + ns % 64));
    *room = 0;
    int64_t start = now_ns();
    int64_t end = start + ns;
    struct timespec due = {end / 1000000000, end % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
        ;
    return now_ns() - start;
}
