/* Dormant threads, which hardly run, and how they are looked at without a visit to each at each
 * tick: by one clock that proves that none has run, or else in random slices (slices.h).
 *
 * CLOCK_PROCESS_CPUTIME_ID of another process sums its threads' run times, to the nanosecond, in
 * one system call.  The sum less the run times of the threads that are visited stays the same until
 * a dormant or a new thread runs.  To read 1000 schedstat files takes 1 to 3 ms, the clock 30 to
 * 100 µs.  While a thread runs the kernel adds to its run time at the scheduler's clock tick only,
 * every 1 to 10 ms: a shorter run is seen when it is over.  Source: kernel/time/posix-cpu-timers.c
 * (posix_cpu_clock_get: anybody may ask), kernel/sched/cputime.c (thread_group_cputime).
 *
 * Where the sum has moved, or moves all the time, a slice of the dormant threads is looked at.  A
 * thread found to have run wakes up: from the block after the next it is visited at each tick.  Not
 * sooner: half of the time to its next look is this sample's (worker/timeline.h), and that time
 * must not depend on what the sample found. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "sampler/slices.h"

struct capture_hook;
struct process;
struct schedstat;
struct sampler;
struct thread;

enum waking { ASLEEP, FOUND_AWAKE /* in this block */, WAKES_UP /* after this block */ };

/* A dormant thread.  What a look needs lies together here: of 10,000 threads nothing is cached. */
struct sleeper {
    struct thread *thread; /* NULL: it has ended */
    uint64_t runs;         /* the run count at which its sample holds; 0: it does not */
    int64_t until_ns;      /* of the last look that found that */
    uint32_t repeats;      /* those looks, since the thread's claim was extended last */
    uint32_t looks;        /* since it was found to have run */
    enum waking waking;
};

struct dormant {
    struct thread **visited; /* all threads that are neither dormant nor zombies */
    size_t n_visited, capacity;
    struct sleeper *sleepers;
    size_t n_sleepers, sleepers_capacity; /* with those that have ended in this block */
    size_t n_dormant;                     /* without */
    struct slices slices;
    int64_t look_ns;                 /* CPU time of a look, of late */
    uint32_t tick;                   /* this one */
    bool crowded;                    /* too many threads run now and then to visit each that does */
    uint32_t n_found;                /* dormant threads that this block found to have run */
    bool block_rests;                /* no look of this block found that one had run, or may run */
    uint32_t block_tick;             /* the first of this block */
    const struct capture_hook *hook; /* as the block began */

    /* The proof.  rest_ns: the run times of all but the visited threads. */
    clockid_t clock;
    bool usable;
    int64_t rest_ns;
    uint32_t same_since; /* the tick since which rest_ns is the same */
    bool known;          /* since then each dormant thread was looked at, and rested */
    uint32_t looked_at;  /* the tick in which the last block ended */
    bool asks;           /* that was long ago: looks ask whether the worker wants more */
    uint32_t failures, pause_ticks, tried_not_before;
    /* The proof about all dormant threads since they were chosen. */
    int64_t until_ns;
    uint32_t proofs;
};

void dormant_open(struct dormant *d, pid_t pid);
/* Begins a tick, before any thread is visited.  True: no dormant thread has run, and none needs a
 * look. */
bool dormant_unchanged(struct sampler *s, struct process *p);

/* The dormant threads to be looked at in this tick, by their place. */
struct slice dormant_slice(struct dormant *d);
/* Looks at the one at PLACE.  True: there is no more to do. */
bool dormant_look(struct sampler *s, struct dormant *d, uint32_t place);
/* N looks have taken CPU_NS. */
void dormant_note_cost(struct dormant *d, size_t n, int64_t cpu_ns);
/* The one at PLACE was visited. */
void dormant_note_look(struct dormant *d, uint32_t place);

/* T is being visited. */
void dormant_note_visit(struct thread *t);
/* T has run since its counts were BEFORE, as a visit at NOW_NS found. */
void dormant_note_run(struct thread *t, int64_t now_ns, const struct schedstat *before);
/* A visit found T running, or waiting for a CPU. */
void dormant_note_active(struct thread *t);
/* Ends a tick.  DORMANT_REST: as dormant_unchanged() returned.  Where a block is over, those are
 * chosen that will be dormant in the next. */
void dormant_end_tick(struct sampler *s, struct process *p, bool dormant_rest);

/* Extends T's sample by the proofs and looks that found it at rest. */
void dormant_update(struct thread *t);
/* In how many ticks a thread like T is looked at once, as of its last visits: 1 or more. */
uint32_t dormant_look_ticks(const struct thread *t);
/* T joins or leaves the process. */
void dormant_add(struct thread *t);
void dormant_remove(struct thread *t);
void dormant_close(struct dormant *d);
