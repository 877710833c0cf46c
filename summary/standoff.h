/* A process all of whose threads wait for one another nearly all the time, until a time-out ends
 * that: a pool whose tasks wait for tasks of the same pool.  Private to the rules. */
#pragma once

#include "summary/rules.h"

/* " All 5 threads wait for one another, for at least 97% of the time, until a time-out: …", of
 * GROUP's process; nothing if that is not so. */
void add_standoff(const struct judgement *s, const struct thread_group *group, struct text *words,
                  struct finding *f);
