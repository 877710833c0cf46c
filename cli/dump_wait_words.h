/* What the threads of a dump wait for, and what is wrong with it, in words. */
#pragma once

#include "dump/dump.h"

/* Appends "waits for a mutex (0x55f2…140), held by 13 b" if the other side of T's wait has a name.
 * Not NUMBERED: without address and tids. */
void dump_wait_words_add(const struct dump *d, const struct dump_thread *t, bool numbered,
                         struct text *out);
/* Appends the faults, a line for each thread in a circle of waits and behind it, for each that
 * waits for a lock that nobody can give up, and for each process that is stuck.  Each begins with
 * two spaces and ends in a line end; no width is kept. */
void dump_wait_words_add_faults(const struct dump *d, struct text *out);
