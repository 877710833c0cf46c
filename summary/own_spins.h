/* Functions of the user's that only ask again and again, while they run: they wait, and look like
 * work.  summary/spinning.h knows those of libraries. */
#pragma once

#include "summary/call_tree.h"

/* Marks them in T (call_tree_mark_spin()), by all threads of its profile:
 *
 * - native code that runs the CPU's instruction for a pause, or whose name can mean nothing but a
 *   wait, or may mean one while samples find it at an atomic variable; if nearly all samples in it
 *   lie within a few bytes.  A body that computes is larger, but some are as small, so that neither
 *   is a proof alone;
 * - a native function that, for most of its own time, runs in one call of trylock(), flock() or
 *   what asks for a child's end;
 * - a function in Python that calls Queue.empty(), Future.done() and the like for most of its own
 *   time, on one line, and does hardly anything else.
 *
 * The last two must be loops themselves: what asks once is called by others that may work. */
void own_spins_mark(struct call_tree *t, struct view *v);
