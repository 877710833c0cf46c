/* What a thread does, in words, from the fields that a dump has of it. */
#pragma once

#include "fleet/fleet.h"

enum { WAIT_IN_BYTES = 256 };
struct wait_in { /* as it was read; "" where a dump does not say */
    char state[16], call[32], path[WAIT_IN_BYTES], wchan[64], gil[16];
    int64_t pid, tid; /* of who has what is waited for; 0: not said */
    char remote[64];
    char device[32], inode[32], offset[32];
    int64_t owner;
    bool spun;
    struct fleet_link link; /* of a poll */
    char kind[32], what[WAIT_IN_BYTES], name[WAIT_IN_BYTES];
};
/* The id of that wait in F. */
uint32_t wait_words_add(struct fleet *f, const struct wait_in *w);
