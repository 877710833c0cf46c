/* A function that many others call: no way to it explains the time that it takes in all.
 *
 * json.dumps() under twenty functions has 80 % of the time and each of them 4 %, so a walk from the
 * root ends above them all. */
#pragma once

#include "summary/call_tree.h"

struct shared_callee {
    uint32_t *nodes; /* N > 0, the heaviest first, none within another; the caller frees them */
    size_t n;
    size_t callers; /* functions that call it */
    int64_t ns;
};
/* The function, or the wait, with most time, LEAST_NS at least, that three functions or more call,
 * none of them for half of it.  Of several with about as much time the innermost: a wrapper that
 * all go through explains less.  TOTAL_NS: by node, its time and that of all below it.  False:
 * there is none. */
bool shared_callee_find(const struct call_tree *tree, const int64_t *total_ns, int64_t least_ns,
                        struct shared_callee *ret);
/* Where most of CALLEE's time goes: of the nodes below it those of one function or wait, while that
 * has half of CALLEE's time; the heaviest of them. */
uint32_t shared_callee_leaf(const struct call_tree *tree, const int64_t *total_ns,
                            const struct shared_callee *callee);
