/* The OpenMP runtimes of a profile, by their workers: the threads that begin in such a library. */
#pragma once

#include "summary/thread_summary.h"

struct openmp_pool {
    process_id process;
    const char *library; /* its file's name; the view's */
    size_t threads;      /* workers, with those that were folded into one; without who uses them */
    int64_t cpu_ns;
    int64_t spin_ns; /* of that, about: in waits that spin */
    int64_t wait_cpu_ns;
};
struct openmp_pools {
    struct openmp_pool *items; /* by process */
    size_t n, capacity;
};
/* Those of S's threads.  Borrows V. */
void openmp_pools_init(struct openmp_pools *o, const struct thread_summaries *s, struct view *v);
void openmp_pools_release(struct openmp_pools *o);
