/* Threads that have been off the CPU for long, and the one clock that proves that none of them has run.
 * CLOCK_PROCESS_CPUTIME_ID of another process sums its threads' run times, to the nanosecond, in one
 * system call: less those of the threads that are awake it stays the same until a sleeper runs, or a
 * thread comes that is not known yet.  1000 schedstat files cost 1 to 2 ms a tick, this some 60 µs.
 * Source: kernel/time/posix-cpu-timers.c (posix_cpu_clock_get: anybody may ask),
 * kernel/sched/cputime.c (thread_group_cputime). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct capture_hook;
struct process;
struct sampler;
struct task;

struct sleepers {
    clockid_t clock;
    bool usable;
    struct task **awake; /* all that are neither asleep nor zombies */
    size_t n_awake, capacity, n_asleep;
    bool measured, known;
    int64_t measured_ns;        /* this tick's sum of the run times of all that are not awake */
    int64_t asleep_ns;          /* the same, when each sleeper was last seen not to have run */
    uint32_t tick, looked_tick; /* this one; that of the last look at each sleeper */
    uint32_t failures, tried_not_before;
    bool disturbed;                  /* a sleeper was found to have run, in this tick */
    const struct capture_hook *hook; /* what they were read with */
    /* What has been proven of all sleepers since they fell asleep. */
    int64_t until_ns;
    uint32_t proofs;
};

void sleepers_open(struct sleepers *sleepers, pid_t pid);
/* Begins a tick, before any thread is visited.  True: no sleeper has run; only those awake need a visit. */
bool sleepers_undisturbed(struct sampler *s, struct process *p);
/* T has run since it was last visited. */
void sleepers_moved(struct task *t);
/* Every thread was visited: chooses who is asleep. */
void sleepers_choose(struct process *p);
/* Brings what T's sample is known to hold for up to date. */
void sleepers_settle(struct task *t);
/* T joins or leaves the process. */
void sleepers_add(struct task *t);
void sleepers_remove(struct task *t);
void sleepers_close(struct sleepers *sleepers);
