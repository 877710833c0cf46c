/* A thread's time as segments of one path each, ready to be written as weighted samples.  There
 * are two ways to make it smaller.  Bucketing keeps the order of the buckets and gives up the order
 * inside.  Folding gives the weight of light paths to their callers.  Neither loses weight. */
#pragma once

#include "profile/profile.h"
#include "summary/paths.h"

struct segment {
    uint32_t path; /* 0: nothing known of this time */
    int64_t ns;    /* of faults and switches their number */
};
struct path_timeline { /* zero-initialise */
    struct segment *segments;
    size_t n, capacity;
};
/* Appends T's time, neighbours of one path joined.  With END_NS, the segments cover [0, END_NS),
 * whatever T's own life is; without (0), only what lies within its runs. */
void path_timeline_add_thread(struct path_timeline *l, const struct paths *paths,
                              const struct profile_thread *t, enum weight weight, int64_t end_ns);
/* Aggregates by path within each bucket of BUCKET_NS > 0, in the order of their ranks. */
void path_timeline_bucket(struct path_timeline *l, const struct paths *paths, int64_t bucket_ns);
/* Gives the weight of every subtree lighter than MIN_NS to its parent.  L must be one bucket, and
 * is so afterwards. */
void path_timeline_fold(struct path_timeline *l, struct paths *paths, int64_t min_ns);
/* Did T spend 95 % of its time in one wait? */
bool path_timeline_is_one_wait(struct paths *paths, const struct profile_thread *t);
int64_t path_timeline_total_ns(const struct path_timeline *l);
void path_timeline_release(struct path_timeline *l);
