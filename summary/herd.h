/* Many threads at one condition, all of which are woken, where one is needed. */
#pragma once

#include "summary/rules.h"

/* " main may wake them all, in dispatch a.c:9 > …: …", if several threads of GROUP wait at NODE for
 * a condition, or for the mutex that they want when they are woken, and samples found a thread of
 * their process in what wakes all of a condition's; or, of that thread, whom it may wake. */
void add_herd(const struct judgement *s, struct thread_group *group, uint32_t node,
              struct text *words);
