/* A wait in futex(2) for what lies in memory that processes share, and leaves no trace of its
 * holder: a semaphore, an rwlock that its readers have. */
#pragma once

#include "summary/rules.h"

/* " in /dev/shm/pool, which processes share", of B, a BLOCKER_SHARED whose process is unknown;
 * " that processes share" where it has no name. */
void shared_place_add(struct text *out, const struct profile *p, const struct blocker *b);
/* ", for a semaphore in /dev/shm/pool, which processes share", if RUN's wait at NODE is one. */
void add_shared_place(const struct judgement *s, const struct run *run, uint32_t node,
                      struct text *words);
/* What follows if its holder was killed, likewise. */
void add_killed_holder(const struct judgement *s, const struct run *run, uint32_t node,
                       struct text *words);
