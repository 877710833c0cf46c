/* The lists of interpreters and of their thread states.  They are read from live memory: a state
 * that they name may be gone by then, and a list that changes meanwhile may come back in part. */
#pragma once

#include "pyframes/py_runtime.h"

enum { PY_MAX_INTERPRETERS = 256 };

/* Fills INTERPS with the addresses of all interpreters, the newest first.  Returns how many, at
 * most MAX; *RET_MORE: there are more. */
size_t py_interpreters_list(const struct py_runtime *rt, struct mem *live, uint64_t *interps,
                            size_t max, bool *ret_more);
/* The main interpreter, which is the oldest.  Returns 0; -ENOENT: there is none; what mem_read()
 * says. */
int py_interpreters_main(const struct py_runtime *rt, struct mem *live, uint64_t *ret);
/* Fills STATES with the thread states of all interpreters, whosever they are.  Returns how many, at
 * most MAX. */
size_t py_interpreters_states(const struct py_runtime *rt, struct mem *live, uint64_t *states,
                              size_t max);
