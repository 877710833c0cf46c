/* Messages of the sampler → the profile's time lines: how much time each sample stands for.
 *
 * A sample holds until the thread's next one.  Where the thread's unchanged run count proves it, all of
 * that time; else at most two intervals, and the rest is missed.  Its state is the one that was
 * observed.  The kernel's exact counts are the thread's totals (profile/weights.h).  They change a run
 * in two cases only: the wait for a CPU that ended an off-CPU stretch, and a wait that the kernel did
 * not count. */
#pragma once

#include <stdint.h>

#include "profile/profile.h"
#include "sampler/message.h"

/* One thread's present sample, still open. */
struct lane {
    thread_id thread;
    uint32_t task; /* the sampler's number for it */
    bool open;
    stack_id stack, frames;
    enum run_state state;
    bool was_woken;            /* it waits for a CPU at the end of a call that waits */
    int64_t start_ns;          /* CLOCK_MONOTONIC */
    struct schedstat sched;    /* at start_ns */
    uint64_t samples;          /* opened so far */
    uint64_t unmarked_samples; /* ticks since the counts were marked last */
    bool resumed;              /* its beginning has been added to the profile */
    int64_t waited_ns;         /* counted waits less what was shown as waiting */
    uint64_t held_ns;          /* at start_ns */
    bool
        by_state; /* samples are left out, so the kernel's counts are not those of the others: what was seen counts */
    uint64_t voluntary, involuntary; /* the thread's switches when it was first seen */
};

enum run_state run_state_of(enum thread_state state);
/* Ends LANE's open sample, if there is one, at the time of M.  ORIGIN_NS: of the profile's time. */
void lane_close(struct lane *lane, struct profile *p, const struct message *m, int64_t origin_ns);
/* Opens a sample at the time of M.  STACK none: missed; of a thread that waits for a CPU it says so, and if that one proves to
 * have been running FRAMES takes its place, which does not.  WAS_WOKEN: it was asleep before, and FRAMES says so. */
void lane_open(struct lane *lane, const struct message *m, stack_id stack, stack_id frames,
               enum run_state state, bool was_woken);
/* The open sample is known to hold until the time of M: adds what there is of it. */
void lane_hold(struct lane *lane, struct profile *p, const struct message *m, int64_t origin_ns);
/* The thread ended, or the recording. */
void lane_end(const struct lane *lane, struct profile *p, const struct message *m,
              int64_t origin_ns);
