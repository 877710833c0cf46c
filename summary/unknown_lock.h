/* A wait for a lock whose holder nobody can read. */
#pragma once

#include "summary/rules.h"

/* " The lock's holder is unknown: …", of the lock that GROUP waits for at NODE. */
void add_unknown_lock(const struct judgement *s, const struct thread_group *group, uint32_t node,
                      struct text *words);
