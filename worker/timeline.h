/* Messages of the sampler → the profile's time lines: how much time each sample stands for.
 *
 * A sample holds for as long as the thread's unchanged run count proves it.  Each of two samples
 * has half of the time that is left between them, but at most an interval, and the rest is missed;
 * a thread's last one has all of it, but at most two.  Its state is the one that was observed.  The
 * kernel's exact counts are the thread's totals (profile/weights.h).  They change a run in two
 * cases only: the wait for a CPU that ended an off-CPU stretch, and a wait that the kernel did not
 * count. */
#pragma once

#include <stdint.h>

#include "capture/message.h"
#include "profile/profile.h"
#include "waits/waits.h"
#include "worker/cpu_waits.h"
#include "worker/usage.h"

/* From AT_NS (CLOCK_MONOTONIC) on a thread's wait is WAIT, the same but for the holder. */
struct side_change {
    wait_id wait;
    int64_t at_ns;
};
enum { MOST_SIDE_CHANGES = 10000 }; /* of one sample: 100 seconds of them at 100 Hz */

/* One thread's present sample, still open. */
struct thread_timeline {
    thread_id thread;
    uint32_t thread_no; /* the sampler's number for it */
    bool open;
    struct spot at;
    struct spot settled; /* where it was, if it proves not to have waited for a CPU */
    enum run_state state;
    struct side_change *changes; /* of the open sample, by time */
    size_t n_changes, changes_capacity;
    /* When the call's time-out ends its wait, at the latest; 0: never, or unknown.  It is set once
     * the sample is open. */
    int64_t times_out_ns;
    bool was_woken;    /* it waits for a CPU at the end of a call that waits */
    bool surely_waits; /* the counts proved that it waits for a CPU */
    struct cpu_waits cpu_waits;
    int64_t start_ns;                    /* where its time begins, or the next one's will */
    int64_t seen_ns;                     /* of the last sample or thread_timeline_hold() */
    int64_t taken_ns;                    /* of the open sample: others know it by that */
    int64_t sampled_ns;                  /* the same, moved by the pauses since */
    int64_t resumed_ns;                  /* what others know from before is of before the pause */
    struct schedstat sched;              /* at seen_ns */
    bool skipped;                        /* a pause lies between SCHED and the next message */
    uint64_t samples;                    /* opened so far */
    uint64_t unmarked_samples;           /* ticks since the counts were marked last */
    bool born;                           /* SCHED counts from its birth, all of it recorded */
    bool resumed;                        /* its beginning has been added to the profile */
    int64_t waited_ns;                   /* counted waits less the waits that were shown */
    uint64_t held_ns;                    /* at seen_ns */
    uint64_t lost_ns;                    /* the same */
    uint64_t own_switches;               /* as of the last message */
    uint64_t own_unlooked;               /* of those, what came since the last look at USAGE */
    uint32_t near_faults, around_faults; /* of the open sample's stop */
    /* Samples are left out (--gil): the kernel's counts are not those of the others, so the samples
     * count. */
    bool by_state;
    struct usage_watch usage;
};

enum run_state run_state_of(enum thread_state state);
/* Ends TIMELINE's open sample, if there is one, at the time of M.  ORIGIN_NS: of the profile's
 * time. */
void thread_timeline_close(struct thread_timeline *timeline, struct profile *p,
                           const struct message *m, int64_t origin_ns);
/* The profile's time stood still for NS, and goes on: so does the open sample.  Call it between the
 * last message from before that and the first one after it. */
void thread_timeline_skip(struct thread_timeline *timeline, int64_t ns);
/* Opens a sample at the time of M.  AT nothing: missed; of a thread that waits for a CPU it says
 * so, and if that one proves not to have waited SETTLED takes its place.  WAS_WOKEN: it was blocked
 * before, and SETTLED says so. */
void thread_timeline_open(struct thread_timeline *timeline, const struct message *m, struct spot at,
                          struct spot settled, enum run_state state, bool was_woken);
/* RET gets the open sample, as others know it.  False: there is none. */
bool thread_timeline_open_sample(const struct thread_timeline *timeline, struct open_sample *ret);
/* The open sample goes on, but what the thread waits for has changed hands at AT_NS
 * (CLOCK_MONOTONIC) and has SIDE now.  After MOST_SIDE_CHANGES the holder is not known. */
void thread_timeline_change_side(struct thread_timeline *timeline, struct profile *p,
                                 const struct wait_side *side, int64_t at_ns);
/* The process runs another program since EXECED_NS (CLOCK_MONOTONIC), and M is the first sample of
 * it: marks the time between.  Its main thread may have ended long before, and another have called
 * execve. */
void thread_timeline_exec(struct thread_timeline *timeline, struct profile *p,
                          const struct message *m, int64_t execed_ns, int64_t origin_ns);
/* The open sample is known to hold until the time of M: adds what there is of it. */
void thread_timeline_hold(struct thread_timeline *timeline, struct profile *p,
                          const struct message *m, int64_t origin_ns);
/* The thread ended, or the recording. */
void thread_timeline_end(const struct thread_timeline *timeline, struct profile *p,
                         const struct message *m, int64_t origin_ns);
/* Frees what TIMELINE has beside itself. */
void thread_timeline_release(struct thread_timeline *timeline);
