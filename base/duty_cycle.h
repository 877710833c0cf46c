/* Work that is done again and again, for at most a share of the time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialise: due at once. */
struct duty_cycle {
    int64_t due_ns;    /* the work is not due before, by clock_now_ns() */
    int64_t credit_ns; /* may be set before: pauses of so much may be made up for later, and no work
                          counts for more.  A hypervisor that takes the CPU for a moment makes work
                          look as dear as a hundred of its kind; with a credit none is left out */
    int64_t begun_ns, begun_cpu_ns, paid_ns; /* private; PAID_NS: when no pause is owed any more */
};

/* Is it time?  Then the work begins now: duty_cycle_end() has to follow, in the same thread. */
bool duty_cycle_begin(struct duty_cycle *r);
/* The work is done.  It is due again after the longest of LEAST_NS, SHARE times the CPU time that
 * it took, and the wall time that it took.  The wall time counts once, because a thread that lost
 * the CPU meanwhile would otherwise leave the work undone for seconds.  With a credit the share is
 * kept over a longer time. */
void duty_cycle_end(struct duty_cycle *r, int64_t share, int64_t least_ns);
