/* The processes of a profile as a tree, with the times of their threads. */
#pragma once

#include "summary/short_name.h"
#include "summary/thread_summary.h"

struct process_row {
    process_id id;
    unsigned depth;           /* 0: its parent is not in the profile */
    char *label;              /* "rank1", "cc1 17001" */
    struct label_shape shape; /* of LABEL */
    size_t n_threads;
    int64_t start_ns, end_ns;                /* of its first and its last thread */
    int64_t run_ns, wait_cpu_ns, blocked_ns; /* sums over its threads */
    int64_t unsampled_children_ns;           /* CPU time of ended children that were not recorded */
    bool ended;                              /* before the recording did */
};
struct process_tree {
    struct process_row *rows; /* a parent, then its children in the order of their birth */
    size_t n;
};
/* Of all processes of P that the summaries S have, which belong to P.  Borrows nothing. */
void process_tree_init(struct process_tree *t, const struct profile *p,
                       const struct thread_summaries *s);
void process_tree_release(struct process_tree *t);
