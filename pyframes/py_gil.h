/* Which thread holds the GIL, and which wait for it.  Source: CPython Python/ceval_gil.h
 * (ceval_gil.c from 3.12 on), struct _gil_runtime_state; docs/python-versions.md "The GIL". */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pyframes/py_runtime.h"

enum py_gil {
    PY_GIL_NONE,
    PY_GIL_HOLDING,
    PY_GIL_WAITING,
    PY_GIL_ABSENT, /* no Python thread, or an interpreter without a GIL (free-threaded) */
};
struct py_gil_state {
    enum py_gil gil;
    uint64_t holder; /* PY_GIL_WAITING: the thread state that holds it; 0: nobody just then */
};
/* Does a thread hold the GIL, or wait for it?  Sub-interpreters may have their own: then one of
 * them.  THREAD_STATES[0..N): the thread's; N may be 0.  SYSCALL, ARG0: its system call (-1 none).
 * MEM: of the thread's capture, or live, when the answer is out of date at once.  Unreadable memory
 * counts as PY_GIL_NONE. */
struct py_gil_state py_gil_state(const struct py_runtime *rt, struct mem *mem,
                                 const uint64_t *thread_states, size_t n, int64_t syscall,
                                 uint64_t arg0);
