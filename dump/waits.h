/* The other sides of the waits in a dump. */
#pragma once

#include "dump/dump.h"

struct process_set;
/* Finds the other side of each thread's wait, the names of locks, which are global variables of
 * PROCESSES, and circles of waits that are at one time (dump/circles.h).  D has its view, and it is
 * known who ran.  No thread may be held. */
void dump_waits_find(struct dump *d, const struct process_set *processes);
/* What T waits for asleep, as others do spinning; SPIN_NONE: that is not known. */
enum spin_kind dump_wait_asleep(const struct dump *d, const struct dump_thread *t);
/* The kind of T's wait, as dump --json has it; NULL: unknown. */
const char *dump_wait_kind(const struct dump *d, const struct dump_thread *t);
/* Does T open a FIFO whose other end nobody has? */
bool dump_wait_opens_fifo(const struct dump_thread *t);
