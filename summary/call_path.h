/* Where time goes, as a few names: "numpy_of train.py:56 > Worker::sync > [futex]".
 *
 * Of the frames on the way a reader needs the last of their own code, what that calls, and the wait
 * or the function of the C library that it ends in. */
#pragma once

#include "summary/shared_callee.h"

enum { CALL_PATH_MAX_PARTS = 4 };
struct call_path {
    /* Texts of the path's own; NULL: none.  One of them is there. */
    char *caller; /* "numpy_of train.py:56": the last of the user's own functions; without one, the
                     one that calls INNER.  "20 functions", if so many call it */
    char *inner;  /* "mge::Worker::sync": the function below CALLER that matters */
    char *libc;   /* "memcpy", "malloc" */
    char *wait;   /* "[futex]", "[read 64 files: /mnt/data]"; NULL: the thread computes */
    size_t callers;  /* "20 functions": 20; else 0 */
    char *called_by; /* those of the user's: "sell a.py:12, buy a.py:30 and 18 others"; or NULL */
    uint32_t node;   /* its innermost; of several equal paths that of the heaviest */
    int64_t ns;      /* in NODE and below; of several, in all */
};

/* Where a path ends: with all of NODE's time, or (ONLY_SELF) with that of no further call. */
struct path_end {
    uint32_t node;
    bool only_self;
};
/* The path to ENDS, N > 0, which a reader cannot tell apart (below): named after the first, whose
 * time is its `ns`.  Its lines are those with most of the time in ENDS. */
struct call_path call_path_to_ends(struct tally *t, const struct path_end *ends, size_t n);
struct call_path call_path_to(struct tally *t, uint32_t node); /* with all its time */
/* The path that ends in the user's function with most of T's time: its own, and that of all that
 * libraries do for it, but of no further function of the user's.  `caller` alone is set; NODE is
 * its heaviest.  NS is 0 if there is none. */
struct call_path call_path_own(struct tally *t);
/* "evaluate a.py:20": the function at NODE, with the line of it that most of T's time is in.  The
 * caller frees it. */
char *call_path_function(struct tally *t, uint32_t node);
/* The innermost of the user's functions that NODE is in, as call_node's key; 0: none. */
uint32_t call_path_own_key(const struct call_tree *tree, uint32_t node);
/* The path through CALLEE, whoever calls it, to LEAF, shared_callee_leaf(). */
struct call_path call_path_shared(struct tally *t, const struct shared_callee *callee,
                                  uint32_t leaf);
/* The path of THREAD's run alone. */
struct call_path call_path_of_run(struct call_tree *tree, const struct profile_thread *thread,
                                  const struct run *run);
/* What the texts of the path to NODE stand for: equal where a reader cannot tell two paths apart,
 * but for their lines. */
struct call_path_keys {
    uint32_t caller, inner, libc, wait; /* as call_node's key; 0: none */
};
struct call_path_keys call_path_keys(struct call_tree *tree, uint32_t node);
bool call_path_same(const struct call_path_keys *a, const struct call_path_keys *b);
/* Which nodes are in the path to NODE, whatever calls its first function, or below: by node, of
 * those that T has time in.  The caller frees it. */
bool *call_path_nodes(struct tally *t, uint32_t node);
int64_t call_path_ns(struct tally *t, const bool *nodes); /* T's time in them */
/* T's time in PATH, with all that goes on in the C library's function in which that waits: who
 * syncs a file also runs, and waits for a CPU. */
int64_t call_path_call_ns(struct tally *t, const struct call_path *path);
/* Its texts from outside in; returns how many, 1 at least. */
size_t call_path_parts(const struct call_path *path, const char *ret[CALL_PATH_MAX_PARTS]);
struct call_path call_path_copy(const struct call_path *path); /* with texts of its own */
void call_path_release(struct call_path *path);
