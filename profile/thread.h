/* A recorded thread and its time line of runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/ids.h"
#include "profile/usage.h"
#include "profile/weights.h"

enum run_state {
    RUN_MISSED,
    RUN_RUNNING,
    RUN_RUNNABLE,
    RUN_BLOCKED,
    RUN_STOPPED,
    RUN_RUNNING_OR_RUNNABLE
};
/* A stretch of a thread's time during which its stack, its wait and its state stayed the same. */
struct run {
    struct spot at; /* nothing for RUN_MISSED */
    enum run_state state;
    /* RUN_BLOCKED: how many it is made of, by the thread's run counts; 0: unknown */
    uint32_t waits;
    uint64_t samples; /* ticks it stands for */
    int64_t start_ns; /* since the profile's origin */
    struct weights weights;
};
static inline int64_t run_end_ns(const struct run *run)
{
    return run->start_ns + run->weights.wall_ns;
}

struct profile_thread {
    process_id process;
    pid_t tid;
    string_id name;
    bool main;
    bool python; /* ever had a Python frame */
    bool ended;
    bool closed;                           /* end_ns is final, though the thread may live */
    int64_t still_since_ns;                /* it has not run since, when its last run ended */
    int64_t start_ns, end_ns;              /* within the profile; end_ns set by profile_end too */
    struct counts counts;                  /* by schedstat over [start_ns, end_ns) */
    int64_t not_sampled_ns[COUNTED_KINDS]; /* of COUNTS, where no run has that state */
    uint64_t own_switches;                 /* of USAGE's voluntary ones, for wallspy's stops */
    bool faults_by_time;   /* too few were seen around stops to say where they came */
    bool switches_by_time; /* between samples there were several: of which stacks nobody knows */
    uint64_t faults_not_sampled, switches_not_sampled; /* the part that no run has */
    struct count_mark *marks; /* COUNTS at earlier moments, by time; owned by the profile */
    size_t n_marks, marks_capacity;
    struct profile_usage usage; /* samples in about that time */
    struct run *runs;           /* by time, gapless; owned by the profile */
    size_t n_runs, runs_capacity;
    /* 0; else it stands for so many ended threads of like names, which together lived for lived_ns:
     * the runs are sums over all of them, in no order, and there is no tid. */
    uint32_t n_folded;
    int64_t lived_ns;
    uint64_t born; /* each thread's own number: ids are given again */
    /* Another number each time that its runs were joined: while it stays, runs are only appended,
     * and only the last one grows. */
    uint64_t remade;
};
