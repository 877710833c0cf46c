/* The weights of runs, and how much of the kernel's counts each run stands for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/events.h"

struct profile_thread;
struct run;

struct weights {
    int64_t wall_ns;    /* from its beginning to the thread's next run */
    int64_t counted_ns; /* of the kernel's count for its state; profile_end() sets it */
    struct events events;
};
/* The measures by which a run can be weighed. */
enum weight {
    WEIGHT_WALL,
    WEIGHT_CPU,
    WEIGHT_WAIT_CPU,
    WEIGHT_OFF_CPU, /* blocked */
    WEIGHT_OFF,     /* the two before together */
    WEIGHT_FAULTS,
    WEIGHT_SWITCHES,
    WEIGHT_KINDS,
};
bool weight_is_time(enum weight weight); /* nanoseconds, else a number of events */
int64_t run_weight(const struct run *run, enum weight weight);
void weights_add(struct weights *sum, const struct weights *w);

/* The three times of a thread that the kernel counts exactly.  Off the CPU is the rest of its wall
 * time, without wallspy's own holds. */
enum counted { COUNTED_CPU, COUNTED_RUNQUEUE, COUNTED_OFF_CPU, COUNTED_KINDS };
enum { COUNTED_ALL = (1 << COUNTED_KINDS) - 1 }; /* 1 << enum counted, of all */
struct counts {
    int64_t ns[COUNTED_KINDS];
};
/* The total that RUN takes part in; COUNTED_KINDS: none, it was missed. */
enum counted run_counted(const struct run *run);
/* A thread's counts from its start to one moment. */
struct count_mark {
    int64_t at_ns;
    struct counts counts;
};

/* Shares the counts of the N THREADS, which are all of one process, over their runs.
 *
 * The counts are exact totals, and the samples say on what the time went.  A run takes part in the
 * one total that fits its state, by its wall time.  So the share of a stack is unbiased, whatever
 * the thread does between two samples, and the sum is the kernel's.  Each window of a thread (at
 * least WEIGHTS_WINDOW samples of that kind between two marks) has its own factor: a phase with
 * much missed time weighs no less.
 *
 * Threads with few running samples share one factor: of 1000 threads that each run for 0.05 % of
 * the time many have no running sample at all, and the samples of the others stand for their CPU
 * time, too.  Where nothing was sampled, `not_sampled_ns` keeps the count. */
enum { WEIGHTS_WINDOW = 100 };
void weights_scale(struct profile_thread *const *threads, size_t n);
