/* Who waits for whom across processes and hosts, and where that ends: at a process that waits for
 * none of the others, or in a circle. */
#pragma once

#include "fleet/members.h"

struct wait_chain {
    uint32_t *next; /* by process of the fleet: for which one its main thread waits; FLEET_NONE */
    uint32_t *ends; /* by process: where its chain ends: that process, or one of a circle */
    uint32_t end;   /* where most members' chains end; FLEET_NONE: nobody waits for another */
    size_t waiting; /* members whose chains end there, without itself or the circle */
    bool circle;    /* END is one of a circle */
};

/* Finds them by the threads and processes that waits name, and by TCP connections, of which each
 * end has the other one's addresses.  RET is released by wait_chain_release(). */
void wait_chain_find(const struct fleet *f, const struct members *m, struct wait_chain *ret);
/* Is PROCESS where most chains end, or one of that circle? */
bool wait_chain_is_end(const struct wait_chain *c, uint32_t process);
void wait_chain_release(struct wait_chain *c);
