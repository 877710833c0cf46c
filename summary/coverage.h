/* How much of the threads' time was seen, and whether the samples agree with the kernel's
 * counts. */
#pragma once

#include "summary/thread_summary.h"

/* Of T's time, from its start to its end: the part that its samples stand for. */
double coverage_of_thread(const struct thread_summary *t);
/* The same of all threads that ran or were due to run for a hundredth of their time at least.  The
 * others hide no loss, and show none: a thread that does not run is proven to be where it was.  1
 * if there are no such threads. */
double coverage_of_all(const struct thread_summaries *s);
/* The same while P grows, of the last SPAN_NS of each thread; INT64_MAX: of all of its time. */
double coverage_so_far(const struct profile *p, int64_t span_ns);

/* A state that samples found a thread in more or less often than chance allows. */
struct disagreement {
    const struct thread_summary *thread; /* NULL: none */
    enum counted state;
    double sampled, counted; /* shares of the thread's time */
};
/* The one that is furthest from the kernel's counts.  STOLEN_NS: the time that a hypervisor took of
 * all CPUs, which the kernel counts as time off the CPU.  Finds lockstep with the program, a
 * sampler that comes late when the program runs, and mistakes in wallspy's own sums. */
struct disagreement coverage_check(const struct thread_summaries *s, int64_t stolen_ns);
