/* How long a dump looked, and which threads ran meanwhile.  A capture makes the thread run: the
 * look begins once all have been let go, and are where they were. */
#pragma once

#include "cli/dumped.h"

/* Reads all run counts; no thread may be held. */
void dump_look_begin(struct dump *d);
/* Returns once the look has lasted NS.  Unless WHOLE it returns earlier if in each process a thread
 * is known to have run. */
void dump_look_wait(const struct dump *d, int64_t ns, bool whole);
/* Reads all run counts again, and sets `look_ns`, `ran` and `ended` of all threads. */
void dump_look_end(struct dump *d);
