/* The other sides of the waits in a dump, and whether a circle of them lasts for ever. */
#pragma once

#include "cli/dump_thread.h"

struct process_set;
/* Finds the other side of each thread's wait, the names of locks, which are global variables of
 * PROCESSES, and circles of waits that are at one time.  D has its view, and it is known who ran.
 * A deadlock is a circle of which no wait has a time-out and no thread has run for half a second.
 * No thread may be held. */
void dump_waits_find(struct dump *d, const struct process_set *processes);
/* Do all threads of thread FIRST's process, which it is the first of, wait for one another, so that
 * only a signal can wake them?  False where a circle or a lock that nobody can give up was found,
 * because their lines say more.  The look has ended. */
bool dump_waits_stuck(const struct dump *d, size_t first);
/* Appends the faults, a line for each thread in a circle of waits and behind it, for each that
 * waits for a lock that nobody can give up, and for each process that is stuck.  Each begins with
 * two spaces and ends in a line end; no width is kept. */
void dump_waits_print(const struct dump *d, struct text *out);
/* Appends "waits for a mutex (0x55f2…140), held by 13 b" if the other side of T's wait has a name.
 * Not NUMBERED: without address and tids. */
void dump_waits_add(const struct dump *d, const struct dump_thread *t, bool numbered,
                    struct text *out);
/* Does T open a FIFO whose other end nobody has?  That its call says, not dump_waits_add(). */
bool dump_waits_opens_fifo(const struct dump_thread *t);
/* The kind of T's wait, as dump --json has it; NULL: unknown. */
const char *dump_waits_kind(const struct dump *d, const struct dump_thread *t);
