/* The ranks of a job: which processes of the dumps are one and the same in several rounds, which
 * only help another, which sent nothing. */
#pragma once

#include "fleet/fleet.h"

struct member {
    int64_t rank;         /* −1: the job has no ranks */
    uint32_t first, last; /* processes of the fleet: of the first round, and of the last */
    uint32_t rounds;
    uint32_t helpers; /* processes that inherit its rank, in the last round; FLEET_NONE: none */
};
struct members {
    struct member *items; /* by rank, then by host and pid */
    size_t n, capacity;
    uint32_t *next_helper; /* by process */
    int64_t world;         /* how many ranks there should be; 0: not known */
    int64_t *absent;       /* ranks that sent nothing, ascending */
    size_t n_absent, absent_capacity;
    size_t aside; /* processes that are no ranks: launchers, and of other command lines */
    size_t
        twice; /* processes that have a rank which another one of their dump has, too, and did not
                     inherit it: there are two jobs */
    bool ranked;
};

/* Finds them.  F and RET outlive each other's use; RET is released by members_release(). */
void members_find(const struct fleet *f, struct members *ret);
void members_release(struct members *m);
