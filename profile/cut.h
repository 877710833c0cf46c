/* A profile becomes that of a part of its time, so that whoever reads it need not know of it. */
#pragma once

#include "profile/profile.h"

/* What of it is not exact, or is gone. */
struct profile_cut {
    /* On CPUs and waiting for one, by the kernel's counts; of it BY_SAMPLES_NS lies between a mark
     * and an edge of the window, where the samples say how much of the count comes before. */
    int64_t counted_ns, by_samples_ns;
    uint32_t threads;  /* that had runs */
    uint32_t left_out; /* of them: those without time in the window */
    uint64_t folded;   /* ended threads of which nobody knows what they did when, left out, too */
    int64_t step_ns;   /* within so much of an edge a run may lie on the wrong side; 0: none does */
};
/* Cuts P, which has ended, to [FROM_NS, TO_NS) of its time, which is a part of it and not empty;
 * FROM_NS becomes its origin.  Runs are clipped, with the samples and waits that they are made of
 * in proportion.  A thread's counts are the kernel's, faults and switches follow the runs' share.
 * What has no marks in time, as the machine's counters, is scaled to the window's length.  Facts of
 * the end (asyncio's tasks, how many threads there are) are forgotten unless the window has it. */
void profile_cut(struct profile *p, int64_t from_ns, int64_t to_ns, struct profile_cut *ret);
