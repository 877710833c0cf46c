/* How long a dump looks, and which threads run meanwhile. */
#pragma once

#include "dump/dump.h"

/* Has the sampler of R, a single shot with looks before it, look for NS from when it has seen all
 * threads.  Returns for how long it did; 0: all processes ended before. */
int64_t dump_look_run(struct recording *r, int64_t ns);
/* Waits until the threads that the shot held are where they were, and reads all run counts; no
 * thread may be held. */
void dump_look_settle(struct dump *d);
/* Says of all threads whether they ran between their first look and their last one, and which have
 * ended.  Without looks (`look_ns` is 0) it waits a little, sets that, and says it of that time. */
void dump_look_end(struct dump *d);
