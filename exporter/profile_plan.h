/* Which profiles a speedscope file has, and in which order (docs/speedscope.md). */
#pragma once

#include "exporter/path_timeline.h"
#include "summary/thread_summary.h"

/* One profile of the file: the threads [first, last) of the summaries. */
struct file_profile {
    char *name;
    size_t first, last;
    process_id process; /* of this one's only; none: of all */
    enum weight weight;
    bool ordered; /* by time, on the common axis; else aggregated */
    bool rooted;  /* each thread's label as root frame */
};
struct profile_plan {
    const struct profile *p;
    const struct thread_summaries *s;
    bool several;    /* processes: then no thread is the one that the user waits for */
    size_t n_active; /* of the threads; they come first */
    struct file_profile *profiles;
    size_t n, capacity;
};
/* WEIGHTS (1 << enum weight): the kinds that each thread gets a profile of.  Borrows P and S. */
void profile_plan_init(struct profile_plan *plan, const struct profile *p,
                       const struct thread_summaries *s, unsigned weights);
void profile_plan_release(struct profile_plan *plan);
/* The end of the threads that have FIRST's name. */
size_t profile_plan_group_end(const struct thread_summaries *s, size_t first);
/* "60 idle: omp worker", of the idle threads [FIRST, LAST); the caller frees it. */
char *profile_plan_idle_name(const struct thread_summaries *s, size_t first, size_t last);
