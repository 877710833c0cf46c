/* The graph of waits at one moment: each thread waits for one other at most.  A wait for a process
 * (a child, the other end of a pipe) is one for its thread if it has one only, unless it waits for
 * itself: a handler of its signals may end that.  Finds the threads that wait in a circle, and
 * those behind one.  Pure. */
#pragma once

#include "profile/profile.h"

enum { WAIT_NOBODY = -1 };
struct waiter {
    pid_t pid, tid;
    struct wait_side side; /* as summary/wait_side.h gives it */
    uint32_t tag;          /* the caller's */
    int next;              /* index of the item that it waits for; or WAIT_NOBODY */
    int cycle;             /* the circle that it is part of, from 1 on; 0: none */
    int behind;            /* the circle that it waits for and is no part of; 0: none */
};
struct wait_graph {
    struct waiter *items; /* in the order of being added */
    size_t n, capacity;
    int n_cycles;
};
/* Zero-initialise.  Adds thread TID of process PID, whether it waits or not. */
void wait_graph_add(struct wait_graph *g, pid_t pid, pid_t tid, const struct wait_side *side,
                    uint32_t tag);
/* Sets the fields of the items that depend on the others.  Call it once, when all have been
 * added. */
void wait_graph_link(struct wait_graph *g);
/* CYCLE is no circle after all: its waits were not at one time.  Its items then wait for nobody;
 * the numbers of the circles after it are one less. */
void wait_graph_drop(struct wait_graph *g, int cycle);
/* Has a wait of circle CYCLE a time-out?  Then the circle may end.  Waits for the GIL have one
 * always, and take it up again. */
bool wait_graph_is_timed(const struct wait_graph *g, int cycle);
/* The first of the items in CYCLE; the others follow by `next`. */
const struct waiter *wait_graph_first(const struct wait_graph *g, int cycle);
void wait_graph_release(struct wait_graph *g);
