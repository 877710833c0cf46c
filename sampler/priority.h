/* How the sampler's thread is scheduled beside those that it samples.  Private to sampler/. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/sampler.h"

/* Of the calling thread, the sampler's.  The first two are read by any thread. */
struct priority {
    _Atomic int kind; /* enum sampler_priority */
    _Atomic int nice;
    int usual, best;          /* the nice that it had, and the best that is granted */
    int64_t most_ns;          /* its CPU time at most in a second at BEST */
    int64_t since_ns, cpu_ns; /* begin of the present second, and its CPU time by then */
    int64_t pause_ns;         /* for how long BEST is given up the next time */
};

/* Lets the calling thread have a CPU sooner when it wakes.  CPUS: how many it may run on. */
void priority_set(struct priority *p, int cpus);
/* Call it often: at NOW_NS the calling thread has had CPU_NS of CPU time.  Returns whether it gives
 * its better nice up just now, because it took too much. */
bool priority_keep(struct priority *p, int64_t now_ns, int64_t cpu_ns);
/* Warns if thread TID of the target keeps the calling thread, the sampler's, off its only CPU. */
void priority_check(pid_t tid);
