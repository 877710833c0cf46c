/* The paths that most of the time goes into.
 *
 * A walk from the root to the heaviest child, while that has at least half of its parent, ends
 * where the time is; where no child has half, a walk from each.  What leaves a walk on its way is
 * walked, too.  Before all ways comes what many functions call, where that has half as much time
 * again as the heaviest way (shared_callee.h); it is in no way then. */
#pragma once

#include "summary/call_path.h"

/* The heaviest ways of T, at most MAX > 0, disjoint, heaviest first: the first and those that have
 * at least a twentieth of all but idle time.  Ways that a reader cannot tell apart, because only
 * the callers of the first function differ, are one.  Returns how many; 0: no time in a stack.  The
 * caller releases each. */
size_t call_paths_heaviest(struct tally *t, struct call_path *ret, size_t max);
/* The same.  RET_PATHS, by node, as many as there are nodes and one more, all zero before: the
 * path, counted from 1, that the node's own time is in; 0: none of them. */
size_t call_paths_with_nodes(struct tally *t, struct call_path *ret, size_t max,
                             uint32_t *ret_paths);
/* The heaviest way to nodes that TEST holds for, those that a reader cannot tell apart as one;
 * false: none has time of its own.  The caller releases it. */
typedef bool node_test(const struct call_tree *t, uint32_t node, const void *arg);
bool call_path_of_nodes(struct tally *t, node_test *test, const void *arg, struct call_path *ret);
