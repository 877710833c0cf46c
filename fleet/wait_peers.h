/* Who can end a wait: the processes of the dumps that are at the other end of a connection, have a
 * lock, or could wake who waits in shared memory.  Addresses count within their network only. */
#pragma once

#include "fleet/members.h"

struct wait_peers { /* zero-initialise */
    const struct fleet *f;
    struct map processes; /* machine, host and pid → process, of the last round */
    struct map scoped;    /* network, local and remote end → process */
    struct map ends;      /* local and remote end → item of `owners` */
    struct map files;     /* machine and shared file → item of `sharers` */
    struct map places;    /* machine and place in shared memory → item of `sharers` */
    struct end_owner *owners;
    size_t n_owners, owners_capacity;
    struct sharers *sharers;
    size_t n_sharers, sharers_capacity;
    uint64_t work;      /* done so far: input may be hostile */
    uint32_t *found_in; /* by process: in which call it was found last */
    uint32_t n_calls;
    uint32_t *found; /* of the last wait_peers_find(), each once */
    size_t n_found, found_capacity;
    uint32_t remote; /* of that wait, as it is told: the other end, or FLEET_NONE */
    int64_t pid;     /* and the process; 0: not told, or itself */
};

/* Knows the processes of M: those of the last round, and those that help them. */
void wait_peers_know(struct wait_peers *w, const struct fleet *f, const struct members *m);
/* Finds who can end the wait of PROCESS's main thread, without itself: W->found.  Of a lock whose
 * holder is known, and of a call that waits for one thing, that is one. */
void wait_peers_find(struct wait_peers *w, uint32_t process);
void wait_peers_release(struct wait_peers *w);
