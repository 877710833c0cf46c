/* Threads that wait, for a condition or a semaphore, whenever another one is in some function, and
 * hardly at other times.  Neither has an owner that could be read: that the times agree is what
 * tells who keeps them. */
#pragma once

#include "summary/rules.h"

/* Adds " Meanwhile, and hardly at other times, 4 orders threads wait in session db.py:36, 77% of
 * their time: export has, or makes, what they need.", where such threads wait while GROUP's only
 * thread is in the user's function that NODE is in.  Where that one waits whenever the other does
 * not, they take turns. */
void add_lockstep(const struct judgement *s, const struct thread_group *group, uint32_t node,
                  struct text *words, struct finding *f);
