/* Work that is done again and again, for at most a share of the time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialise: due at once. */
struct ration {
    int64_t due_ns;                 /* not to be done again before, by clock_now_ns() */
    int64_t begun_ns, begun_cpu_ns; /* private */
};

/* Is it time?  Then the work begins now: ration_end() has to follow, in the same thread. */
bool ration_begin(struct ration *r);
/* The work is done, and not due again for LEAST_NS, for SHARE times the CPU time it took, nor for as long as it lasted.
 * Not SHARE times that: a thread that lost the CPU meanwhile would leave the work undone for seconds. */
void ration_end(struct ration *r, int64_t share, int64_t least_ns);
