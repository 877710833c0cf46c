/* Circles of waits in a dump, and processes that wait for themselves: whether they last. */
#pragma once

#include "dump/dump.h"

/* Drops the circles of D's waits whose waits are not at one time, and says of the others whether
 * they are deadlocks: circles of which no wait has a time-out and no thread has run for half a
 * second.  It is known who ran, and no thread is held. */
void dump_circles_prove(struct dump *d);
/* Do all threads of thread FIRST's process, which it is the first of, wait for one another, so that
 * only a signal can wake them?  False where a circle or a lock that nobody can give up was found,
 * because their lines say more.  The look has ended. */
bool dump_is_stuck(const struct dump *d, size_t first);
