/* Who is busy while others wait?  A wait whose end nobody can be asked for is explained by the only
 * ones who do something then. */
#pragma once

#include "summary/groups.h"

/* What counts as being busy. */
enum busy_with {
    BUSY_WORK, /* runs, waits for a CPU, or is in an unusual wait: a file, a device */
    /* Or is kept from its work: by a lock, the GIL, a child, a peer, a time to come.  Of another
     * process that says nothing. */
    BUSY_KEPT,
};
struct meanwhile {
    struct thread_group *busy; /* the only group but the waiting one; NULL: none, or several */
    size_t candidates;         /* groups that are, or wait for a lock whose holder is unknown */
    double part;               /* for what part of the waits a thread of BUSY is, on average */
};
/* WAITS: when GROUP waits, in order, and only exact time (intervals_keep_exact()): elsewhere no
 * coincidence is known. */
struct meanwhile meanwhile_of(const struct groups *g, const struct thread_group *group,
                              enum busy_with with, const struct intervals *waits);
