/* All thread states there are, whosever they are.  For the worker, which looks for the one that a thread runs
 * though another made it. */
#pragma once

#include "pyframes/py_runtime.h"

/* Reads the lists of thread states through LIVE.  The target may be running: what comes back may be gone by
 * then.  Fills STATES and returns how many, at most MAX, the newest interpreters' first. */
size_t py_others_list(const struct py_runtime *rt, struct mem *live, uint64_t *states, size_t max);
