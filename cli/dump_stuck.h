/* Processes in a dump all of whose threads wait for one another, so that only a signal can wake
 * them. */
#pragma once

#include "cli/dump_thread.h"

/* Do all threads of FIRST's process wait so?  FIRST: the process's first thread in D.  False where
 * a circle or a lock that nobody can give up was found, because their lines say more.  The look
 * has ended. */
bool dump_is_stuck(const struct dump *d, size_t first);
/* A line for each of them, as dump_waits_print(). */
void dump_stuck_print(const struct dump *d, struct text *out);
