/* Who listens where a recording's connections lead, as far as they stay on this machine and nobody
 * was found at their other end: a connection of one request is over before a search. */
#pragma once

#include "base/hash.h"
#include "waits/peer_looks.h"

/* Adds the listeners to L's profile, at the end of a recording: one look at the descriptors of all
 * processes, if there is something to look for, with at most 0.12 s of CPU time.  SOUGHT, which is
 * zero-initialised, has the places that were looked for before: they are not again. */
void listeners_find(struct peer_looks *l, struct map *sought);
