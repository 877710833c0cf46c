/* Processes in a dump all of whose threads wait for one another, so that only a signal can wake
 * them. */
#pragma once

#include "cli/dumped.h"

/* Is the process of the dump's thread FIRST, its first one, such a one?  Circles, and locks that
 * nobody can give up, say more: then not.  The look has ended. */
bool dump_is_stuck(const struct dump *d, size_t first);
/* A line for each of them, as dump_waits_print(). */
void dump_stuck_print(const struct dump *d, struct text *out);
