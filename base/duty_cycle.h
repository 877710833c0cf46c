/* Work that is done again and again, for at most a share of the time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialise: due at once. */
struct duty_cycle {
    int64_t due_ns;                 /* the work is not due before, by clock_now_ns() */
    int64_t begun_ns, begun_cpu_ns; /* private */
};

/* Is it time?  Then the work begins now: duty_cycle_end() has to follow, in the same thread. */
bool duty_cycle_begin(struct duty_cycle *r);
/* The work is done.  It is due again after the longest of LEAST_NS, SHARE times the CPU time that
 * it took, and the wall time that it took.  The wall time counts once, because a thread that lost
 * the CPU meanwhile would otherwise leave the work undone for seconds. */
void duty_cycle_end(struct duty_cycle *r, int64_t share, int64_t least_ns);
