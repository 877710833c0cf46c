/* The paths that most of the time goes into.
 *
 * A walk from the root to the heaviest child, while that has at least half of its parent, ends
 * where the time is; where no child has half, a walk from each.  What leaves a walk on its way is
 * walked, too. */
#pragma once

#include "summary/call_path.h"

/* The heaviest ways of T, at most MAX > 0, disjoint, heaviest first: the first and those that have
 * at least a twentieth of all but idle time.  Ways that a reader cannot tell apart, because only
 * the callers of the first function differ, are one.  Returns how many; 0: no time in a stack.  The
 * caller releases each. */
size_t call_paths_heaviest(struct tally *t, struct call_path *ret, size_t max);
/* The heaviest way to nodes that TEST holds for, those that a reader cannot tell apart as one;
 * false: none has time of its own.  The caller releases it. */
typedef bool node_test(const struct call_tree *t, uint32_t node, const void *arg);
bool call_path_of_nodes(struct tally *t, node_test *test, const void *arg, struct call_path *ret);
