/* Functions of the user's that only ask again and again, while they run: they wait, and look like
 * work.  summary/spinning.h knows those of libraries. */
#pragma once

#include "summary/call_tree.h"

/* Marks them in T (call_tree_mark_spin()), by all threads of its profile:
 *
 * - native code whose name says that it waits, or that runs the CPU's instruction for a pause, if
 *   nearly all samples in it lie within a few bytes: a body that computes is larger, and its name
 *   alone is no proof;
 * - a native function that, for most of its own time, runs in trylock(), flock() or what asks for a
 *   child's end;
 * - a function in Python that calls Queue.empty(), Event.is_set() and the like for much of its own
 *   time, and hardly anything else. */
void own_spins_mark(struct call_tree *t, struct view *v);
