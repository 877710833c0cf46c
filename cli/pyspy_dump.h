/* A dump as py-spy prints it, as text and as JSON (docs/py-spy.md). */
#pragma once

#include <stdio.h>

#include "cli/options.h"
#include "dump/dump.h"

struct process_set; /* worker/process_set.h */

/* Is there a process in P that runs Python?  Returns EXIT_OK, or EXIT_UNSUPPORTED after a message.
 * Those that run none are left out; a message says so. */
int pyspy_dump_check(const struct profile *p, const struct options *o);
/* Prints D, of O's process and with O->subprocesses of its descendants, to OUT.  Threads that run
 * no Python are in it if O shows native frames.  Names of threads are read live.  Returns 0 or the
 * negative errno of the first failed write.  Source: py-spy 0.4.3. */
int pyspy_dump(struct dump *d, const struct process_set *processes, const struct options *o,
               FILE *out);
