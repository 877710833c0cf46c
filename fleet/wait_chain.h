/* Who waits for whom across processes and hosts, and where that ends: at a process that waits for
 * none of the others, or in a circle. */
#pragma once

#include "fleet/members.h"

struct outside {     /* of no dump */
    uint32_t remote; /* the other end of a connection: a text; FLEET_NONE: it is none */
    int64_t pid;     /* of the same host; 0: not known */
};
struct wait_chain {
    uint32_t *next;   /* by process of the fleet: for which one its main thread waits; FLEET_NONE */
    uint32_t *ends;   /* by process: where its chain ends: that process, or one of a circle */
    uint32_t *any_of; /* by process: one of how many others can end its wait; 0: one, or unknown */
    bool *is_end;     /* by process: is it where most chains end, or one of that circle? */
    struct outside *outside; /* by process: for whom it waits that is in no dump */
    uint32_t end;   /* where most members' chains end; FLEET_NONE: nobody waits for another */
    size_t waiting; /* members whose chains end there, without itself or the circle */
    bool circle;    /* END is one of a circle */
};

/* Finds them by what waits name, and by what processes share (fleet/wait_peers.h).  Of several that
 * could end a wait it is the one that does not wait for the waiter itself, if there is one such.
 * RET is released by wait_chain_release(). */
void wait_chain_find(const struct fleet *f, const struct members *m, struct wait_chain *ret);
void wait_chain_release(struct wait_chain *c);
