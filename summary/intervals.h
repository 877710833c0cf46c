/* Parts of a thread's time, and its runs within them. */
#pragma once

#include "profile/profile.h"

struct interval {
    int64_t start_ns, end_ns; /* since the profile's origin */
};
/* Zero-initialise. */
struct intervals {
    struct interval *items;
    size_t n, capacity;
};
void intervals_add(struct intervals *all, struct interval time);
struct interval interval_of_run(const struct run *run); /* when it was */
void intervals_add_run(struct intervals *all, const struct run *run);
/* Adds TIME, which comes after ALL, unless it is empty: as one with the last that ends there. */
void intervals_join(struct intervals *all, struct interval time);
/* Makes ALL, some at the same time, those of their union, in order. */
void intervals_unite(struct intervals *all);
/* Leaves of ALL what is exact in P and stands for all of it (exact_time_samples()). */
void intervals_keep_exact(struct intervals *all, const struct profile *p);
bool is_exact_at_end(const struct profile *p, int64_t ns); /* are the last NS of P's time so? */
int64_t intervals_ns(const struct intervals *all);         /* their length in all */
/* For how long both A and B are; each is in order, and disjoint. */
int64_t intervals_both_ns(const struct intervals *a, const struct intervals *b);
void intervals_release(struct intervals *all);

/* A walk over the runs of a thread within some intervals: each part of a run in one of them. */
struct run_parts {
    const struct run *run;
    struct interval when; /* of RUN; not empty, but for a whole run that takes no time */
    bool again;           /* the part before is of RUN, too */

    const struct profile_thread *thread; /* from here on private */
    const struct interval *in;
    size_t n, i, next; /* of IN; of the runs */
};
/* IN, N of them in order, disjoint, are borrowed.  The runs of a thread that stands for several are
 * in no order: of those it has the ones that IN has as a whole, in the order of the runs. */
struct run_parts run_parts_of(const struct profile_thread *thread, const struct interval *in,
                              size_t n);
struct run_parts run_parts_of_all(const struct profile_thread *thread); /* each run as a whole */
/* Steps to the first part, and then to the next one; false: there is none. */
bool run_parts_next(struct run_parts *p);
