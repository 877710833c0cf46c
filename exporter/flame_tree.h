/* The time of threads as one tree of calls, and the boxes in which a flame graph shows it: as wide
 * as the time is long, callees below their caller, the heaviest on the left; roots in the order in
 * which they were added. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "exporter/path_timeline.h"
#include "summary/paths.h"

/* One call path below one root.  Node 0 stands for all and has no frame. */
struct flame_node {
    uint32_t parent;
    uint32_t frame; /* of the paths */
    uint32_t depth; /* 0: all; 1: a root frame */
    int64_t self_ns, total_ns;
};
struct flame_tree {           /* zero-initialise */
    struct flame_node *nodes; /* a caller before its callees */
    size_t n, capacity;
};
/* Adds the segments of L, in any order, below a new root of the frame ROOT.  L becomes one
 * bucket. */
void flame_tree_add(struct flame_tree *t, const struct paths *paths, uint32_t root,
                    struct path_timeline *l);
/* Call it once, after all of it was added: sums up total_ns. */
void flame_tree_sum(struct flame_tree *t);
void flame_tree_release(struct flame_tree *t);

/* An item of the drawing: a node, or its narrow callees together. */
struct flame_box {
    uint32_t node;
    uint32_t merged; /* number of NODE's callees below the smallest width; 0: NODE itself */
    uint32_t depth;
    int64_t start_ns, ns;
};
struct flame_boxes {
    struct flame_box *items; /* a caller before its callees */
    size_t n;
    uint32_t max_depth;
    uint64_t left_out; /* paths that no box stands for by itself */
    bool merges;       /* a box of several callees is among them */
};
/* The boxes of T that are MIN_NS ≥ 1 long at least; the caller frees ITEMS. */
struct flame_boxes flame_tree_place(const struct flame_tree *t, int64_t min_ns);
