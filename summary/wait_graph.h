/* Who waits for whom at one moment: each thread for one other at most; a process that is waited for
 * (a child, the other end of a pipe) is its thread if it has one only, unless it waits for itself:
 * a handler of its signals may end that.  Finds who waits in a circle, and who behind one.
 * Pure. */
#pragma once

#include "profile/profile.h"

enum { WAIT_NOBODY = -1 };
struct waiter {
    pid_t pid, tid;
    struct wait_side side; /* as it may be told (summary/wait_side.h) */
    uint32_t tag;          /* the caller's */
    int next;              /* index of who it waits for; WAIT_NOBODY: unknown, or no waiter */
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
/* Sets what of the items depends on the others.  To be called once, when all have been added. */
void wait_graph_link(struct wait_graph *g);
/* CYCLE is none after all: its waits were not at one time.  Who was in it waits for nobody; the
 * circles after it are one less. */
void wait_graph_drop(struct wait_graph *g, int cycle);
/* Has a wait of circle CYCLE a time-out?  Then it is none for ever.  Waits for the GIL have one
 * always, and take it up again. */
bool wait_graph_is_timed(const struct wait_graph *g, int cycle);
/* The first of the items in CYCLE; the others follow by `next`. */
const struct waiter *wait_graph_first(const struct wait_graph *g, int cycle);
void wait_graph_release(struct wait_graph *g);
