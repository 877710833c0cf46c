/* Dormant threads, which have not run for seconds, and the one clock that proves that none has run.
 *
 * CLOCK_PROCESS_CPUTIME_ID of another process sums its threads' run times, to the nanosecond, in
 * one system call.  The sum less the run times of the threads that are visited stays the same until
 * a dormant or a new thread runs.  1000 schedstat files cost 1 to 2 ms a tick, the clock some
 * 60 µs.  While a thread runs the kernel adds to its run time at the scheduler's clock tick only,
 * every 1 to 10 ms: a shorter run is seen when it is over.  So a thread that runs now and then is
 * not dormant.  Source: kernel/time/posix-cpu-timers.c (posix_cpu_clock_get: anybody may ask),
 * kernel/sched/cputime.c (thread_group_cputime). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct capture_hook;
struct process;
struct sampler;
struct thread;

struct dormant {
    clockid_t clock;
    bool usable;
    struct thread **visited; /* all threads that are neither dormant nor zombies */
    size_t n_visited, capacity, n_dormant;
    bool measured, known;
    int64_t measured_ns;         /* in this tick: the run times of all but the visited threads */
    int64_t dormant_ns;          /* the same when each dormant thread was last visited */
    uint32_t tick, visited_tick; /* this one; that in which each was last visited */
    uint32_t failures, tried_not_before;
    bool disturbed;                  /* a dormant thread was found to have run, in this tick */
    const struct capture_hook *hook; /* the hook of their samples */
    /* The proof about all dormant threads since they were chosen. */
    int64_t until_ns;
    uint32_t proofs;
};

void dormant_open(struct dormant *d, pid_t pid);
/* Begins a tick, before any thread is visited.  True: no dormant thread has run, and none needs a
 * visit. */
bool dormant_unchanged(struct sampler *s, struct process *p);
/* T has run since it was last visited. */
void dormant_note_run(struct thread *t);
/* The threads have been visited.  DORMANT_REST: but for the dormant ones; where another has slept
 * for long enough, the next tick visits every thread.  Else the dormant ones are chosen. */
void dormant_note_visits(const struct sampler *s, struct process *p, bool dormant_rest);
/* Extends T's sample by the proof about all dormant threads. */
void dormant_update(struct thread *t);
/* T joins or leaves the process. */
void dormant_add(struct thread *t);
void dormant_remove(struct thread *t);
void dormant_close(struct dormant *d);
