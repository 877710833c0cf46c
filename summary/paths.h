/* Stacks as shown, as a prefix tree: two stacks of the profile that look the same are one path.
 * A path is named by its innermost frame; 0 is the empty one. */
#pragma once

#include "profile/profile.h"
#include "summary/view.h"

struct paths;
/* The paths of all spots that the runs of P's threads in V have.  MAX_DEPTH ≥ 3: a deeper stack
 * keeps its outermost and innermost frames around a frame "[… N frames]" (after some different N
 * "[… 300+ frames]"); 0: none.  Borrows V, not P. */
struct paths *paths_new(const struct profile *p, struct view *v, uint32_t max_depth);
/* The path "[cpu not sampled]", of CPU time that no sample knows of. */
uint32_t paths_cpu_not_sampled(const struct paths *t);
uint32_t paths_of(const struct paths *t, struct spot at); /* 0 also for one that no run has */
/* Paths run from 1 to this; a parent comes before its children. */
uint32_t paths_count(const struct paths *t);
uint32_t paths_parent(const struct paths *t, uint32_t path);
uint32_t paths_depth(const struct paths *t, uint32_t path);
uint32_t paths_frame(const struct paths *t, uint32_t path); /* its innermost frame */
/* Where PATH stands when the tree is walked depth first; 0 for the empty one.  In this order equal
 * beginnings are neighbours, and a viewer makes the fewest nodes. */
uint32_t paths_rank(const struct paths *t, uint32_t path);
uint32_t paths_shortened(const struct paths *t); /* stacks that were deeper than MAX_DEPTH */
/* Room for path_timeline_fold()'s sums by path, from 0 to paths_count(): all zero before and after
 * its use. */
struct path_sum {
    int64_t self_ns, total_ns;
    bool touched;
};
struct path_sum *paths_sums(struct paths *t);
/* How many outermost frames A and B share. */
uint32_t paths_common_depth(const struct paths *t, uint32_t a, uint32_t b);

/* Frames of paths: those of the view by their ids, and names added here after them. */
struct path_frame {
    const char *name, *file; /* FILE NULL: none */
    const char *source;      /* the path in FILE; NULL: none */
    uint32_t line;
    bool waits; /* it is a wait: the thread is off the CPU, or spins */
    bool spins;
};
uint32_t paths_add_frame(struct paths *t, const char *name); /* same name, same frame */
struct path_frame paths_see_frame(const struct paths *t, uint32_t frame);
uint32_t paths_frame_count(const struct paths *t);
struct paths *paths_free(struct paths *t);
