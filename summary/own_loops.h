/* Event loops of the program's own: a function that polls by epoll_wait(2) again and again, calls
 * functions of the program's between, and never returns.  A function that polls and then goes on
 * waits for an answer there. */
#pragma once

#include "summary/call_tree.h"

/* Marks the polls of such loops in T, of all threads of its profile (call_tree_mark_loop()). */
void own_loops_mark(struct call_tree *t);
