/* The names of the global variables that the locks of a dump are. */
#pragma once

#include "cli/dump_thread.h"

struct process_set;
/* Names the locks that threads wait for.  D's sides are known. */
void dump_locks_name(struct dump *d, const struct process_set *processes);
