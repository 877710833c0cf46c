/* Finds the thread for whose end a Python thread waits in Thread.join(), or the main thread when
 * its program is over.  Live memory; a change meanwhile makes the answer "unknown".
 *
 * Up to 3.12 it waits for the lock _tstate_lock of the Thread, which the interpreter gives up when
 * that thread's state goes; from 3.13 on for an event in its handle.  At its end a program waits
 * in threading._shutdown() for all threads that are no daemons (up to 3.7 by a join() each); of
 * these the one that began first is found.  Source: CPython Lib/threading.py;
 * Modules/_threadmodule.c (3.13+: ThreadHandle, PyThreadHandleObject). */
#pragma once

#include "pyframes/py_walk.h"

/* F: the innermost frame of a thread that waits in futex(2) on the word at SEM.  Returns 0 and the
 * pthread_t of the other; -ENOENT: it waits for no thread's end, or the other is unknown. */
int py_join_find(const struct py_runtime *rt, struct mem *live, const struct py_frame *f,
                 uint64_t sem, uint64_t *ret_thread_id);
