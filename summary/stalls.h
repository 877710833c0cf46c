/* What a thread does between its returns to one thing: the poll of its event loop, its wait for
 * requests.  And for how long it stays away at most. */
#pragma once

#include "base/clock.h"
#include "summary/call_tree.h"

enum {
    STALL_NS = 100 * NS_PER_MS, /* a user notices */
    PAUSE_NS = 50 * NS_PER_MS,  /* a service's latency does, where nothing is done for a request */
    STALL_SAMPLES = 4,
};
struct stall {
    int64_t start_ns, end_ns, runqueue_ns;
    uint64_t samples;
    uint64_t put_on_cpu; /* how often it was, by the kernel's count */
    bool blocks;         /* a sample found it in another wait */
};
/* Time before it was there first, and after it was there last, is no part of it: that may have
 * other reasons. */
struct stalls {
    /* Where samples find the thread awake: before what part of the times that it was put on a CPU
     * it had slept, by the kernel's counts. */
    double slept;
    struct stall longest;  /* the longest time away */
    struct intervals away; /* when it did something else, with what may be the end */
    size_t n;              /* of AWAY, without that */
    uint64_t samples;      /* in these */

    uint64_t samples_open;
    struct stall now;
    stack_id home; /* where it was last */
    bool began;
};
struct stalls stalls_begin(const struct profile_thread *t);
/* RUN, the thread's next one, is away from it. */
void stalls_add_away(struct stalls *s, const struct run *run);
/* RUN, the thread's next one, is there; or, not HOME, it waits for its turn to be there. */
void stalls_add_back(struct stalls *s, const struct run *run, bool home);
int64_t stall_ns(const struct stall *stall);
/* Of N > 0 threads the one that was away for longest. */
size_t stalls_worst(const struct stalls *stalls, size_t n);
void stalls_release(struct stalls *s);
