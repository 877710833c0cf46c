/* The other sides of a dump's waits that lie in the kernel. */
#pragma once

#include "cli/dump_thread.h"

/* Sets `side` of the threads that wait in the kernel and whose other side is found.  No thread may
 * be held. */
void dump_peers_find(struct dump *d);
/* Does T wait for the same process as before, without having run since it was captured? */
bool dump_peers_wait_still(const struct dump *d, const struct dump_thread *t);
