/* A pool whose threads all wait for results of tasks: if the pool itself is to run these tasks, no
 * thread is left to do so.  An event loop is a pool of one thread.  Private to the rules. */
#pragma once

#include "summary/rules.h"

/* Appends a sentence about GROUP, whose oldest thread is in the run LAST when the recording ends,
 * and the way out, if the group is such a pool.  Several alike threads are a pool; a single one is,
 * if its stack has a known pool's function, or an event loop's.  Returns whether the sentence was
 * added. */
bool starved_pool_add(const struct judgement *s, const struct thread_group *group,
                      const struct run *last, struct text *words);
