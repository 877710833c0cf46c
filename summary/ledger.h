/* Where the time of those whom the user waits for ends: their account, in which each nanosecond is
 * booked once.
 *
 * A nanosecond in which a leading thread waits for another one, and for whom was read, is booked
 * where that one is in the same nanosecond; if that one waits in turn, where the next one is.  So
 * the figure of a row is the leader's wall time that ends there, whoever's place it is, and all
 * rows can be compared.  Where the leader waits for nobody in particular, the only ones who are
 * meanwhile stand for whoever ends the wait. */
#pragma once

#include "summary/cause.h"
#include "summary/groups.h"
#include "summary/holders.h"

/* How the leader's time comes to a row. */
enum ledger_way {
    LEDGER_OWN,  /* the leader's thread is there itself */
    LEDGER_READ, /* it waits for the one who is there, as was read */
    /* Whom it waits for was not read: only GROUP is busy, or is its children; or the process was
     * read, and GROUP's is the thread of it that works. */
    LEDGER_MEANWHILE,
    LEDGER_WAYS,
};
struct ledger_row {
    const struct thread_group *group; /* whose place it is */
    enum ledger_way way;
    enum cause cause; /* of most of NS */
    struct call_path place;
    int64_t ns;             /* of the leader's time that end here */
    struct wait_side other; /* the other side of the waits that NS are, of most of them */
    int64_t bound_ns;       /* at most saved of the leader's time, if PLACE took none; 0: unknown */
    pid_t waiter;           /* its process */
    int64_t other_ns;       /* 0: nothing is known of it */
    /* Where the leader waits then, for most of NS, and whom for, if that was read (a thing or a
     * blocker), by a thread of process VIA_WAITER; not of LEDGER_OWN. */
    struct call_path waits;
    enum cause waits_cause;
    struct wait_side via;
    pid_t via_waiter;
};
struct ledger {
    const struct profile *p;
    struct thread_group *leader; /* NULL: there is none, and nothing else */
    int64_t wall_ns;             /* of the leader's threads in all */
    int64_t unseen_ns;           /* of it no sample tells */
    int64_t idle_ns;             /* of it ends in waits for work */
    struct ledger_row *rows;     /* heaviest first, disjoint */
    size_t n, capacity;
    int64_t rest_ns; /* in no row: smaller ones */
};
/* Borrows G and H as long as the ledger is used. */
void ledger_init(struct ledger *l, const struct groups *g, struct holders *h);
/* The same for LEADER, borrowed as well: a group of G's, or groups_one_of() it.  Bounds of rows of
 * the group that such a one is of know nothing of its own time in their places. */
void ledger_init_of(struct ledger *l, const struct groups *g, struct holders *h,
                    struct thread_group *leader);
void ledger_release(struct ledger *l);
/* Appends where ROW's time ends: "append a.py:6 > flock /x, for 7012 (python3)"; "worker, in run >
 * ask > ioctl /dev/x" if that is not in the leader. */
void ledger_add_end(struct text *out, const struct ledger *l, const struct ledger_row *row);
/* Appends the rows with a hundredth of the leader's time, in lines of at most WIDTH columns, for
 * -v.  Nothing without a leader. */
void ledger_write(const struct ledger *l, int width, struct text *out);
