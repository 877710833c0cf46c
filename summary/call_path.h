/* Where time goes, as a few names: "numpy_of train.py:56 > Worker::sync > [futex]".
 *
 * A walk from the root to the heaviest child, while that has at least half of its parent, ends
 * where the time is.  Of the frames on that way a reader needs the last of their own code, what
 * that calls, and the wait or the function of the C library that it ends in. */
#pragma once

#include "summary/call_tree.h"

enum { CALL_PATH_MAX_PARTS = 4 };
struct call_path {
    /* Texts of the path's own; NULL: none.  One of them is there. */
    char *caller;  /* "numpy_of train.py:56": the last of the user's own functions; without one, the
                     one that calls INNER */
    char *inner;   /* "mge::Worker::sync": the function below CALLER that matters */
    char *libc;    /* "memcpy", "malloc" */
    char *wait;    /* "[futex]", "[read 64 files: /mnt/data]"; NULL: the thread computes */
    uint32_t node; /* its innermost; of several equal paths that of the heaviest */
    int64_t ns;    /* in NODE and below; of several, in all */
};

/* The heaviest ways of T, at most MAX > 0, disjoint, heaviest first: the first and those that have
 * at least a twentieth of all but idle time.  Ways that a reader cannot tell apart, because only
 * the callers of the first function differ, are one.  Returns how many; 0: no time in a stack.  The
 * caller releases each. */
size_t call_paths_heaviest(struct tally *t, struct call_path *ret, size_t max);
/* The heaviest way to nodes that TEST holds for, those that a reader cannot tell apart as one;
 * false: none has time of its own.  The caller releases it. */
typedef bool node_test(const struct call_tree *t, uint32_t node, const void *arg);
bool call_path_of_nodes(struct tally *t, node_test *test, const void *arg, struct call_path *ret);
/* The path that ends in NODE, with all its time, or (ONLY_SELF) with that of no further call. */
struct call_path call_path_to(struct tally *t, uint32_t node, bool only_self);
/* Its texts from outside in; returns how many, 1 at least. */
size_t call_path_parts(const struct call_path *path, const char *ret[CALL_PATH_MAX_PARTS]);
void call_path_release(struct call_path *path);
