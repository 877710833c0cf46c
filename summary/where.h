/* Where most of a tally's time is, as a sentence has it: "67% in check a.py:83 > generate"; or, if
 * the user's function has much more of it than any way below, "97% in check a.py:83 (67% generate,
 * 15% clean)". */
#pragma once

#include "summary/call_path.h"

enum { WHERE_MAX_WAYS = 3 };
struct where {
    struct call_path ways[WHERE_MAX_WAYS]; /* the heaviest first */
    size_t n;
    struct call_path own; /* NS 0: the first way has about as much as its function */
    int64_t ns, all_ns;   /* of what is told; of the tally */
    uint32_t node;        /* the innermost of the heaviest way that is told; 0: none is */
};
/* False: T has no time in a stack, and there is nothing to release. */
bool where_of(struct tally *t, struct where *ret);
void where_release(struct where *w);
double where_share(const struct where *w);
void where_add(struct call_tree *tree, const struct where *w, struct text *words);

/* The user's function with most of T's time, if it has much more of it than its heaviest way,
 * FIRST, which has FIRST_NS; else NS is 0.  The caller releases it. */
struct call_path where_own(struct tally *t, const struct call_path *first, int64_t first_ns);
/* Appends "97% in check a.py:83 (67% generate, 15% clean)", of ALL_NS, for such a function.
 * Returns which of the N WAYS are told by that, bit by bit. */
unsigned where_add_own(struct call_tree *tree, const struct call_path *own,
                       const struct call_path *ways, size_t n, int64_t all_ns, struct text *words);
