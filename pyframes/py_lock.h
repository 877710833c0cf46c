/* Finds the holder of the Python Lock or RLock that a thread waits for.  Live memory; a change
 * meanwhile makes the answer "unknown".
 *
 * A lock of either kind is a semaphore; or a PyMutex, for which each waiter is parked on a
 * semaphore of its own (the Lock of 3.13's later releases; both from 3.14 on).  The lock itself
 * shows which.
 *
 * An RLock keeps its owner.  A Lock does not, but a `with` statement shows who is in it
 * (py_with.h); who is in its condition's wait() has given it up.  A holder whose code may give the
 * lock up inside of that statement is not named, nor one of two.
 * Source: CPython Modules/_threadmodule.c; Include/cpython/lock.h, Python/parking_lot.c (3.13);
 * Lib/threading.py (Condition). */
#pragma once

#include "pyframes/py_walk.h"

struct py_lock {
    uint64_t addr; /* of the object */
    bool reentrant;
};
/* Finds the lock for which a thread waits on the word of the semaphore SEM; F: its innermost frame,
 * whose value stack has a lock that is made of SEM.  Returns 0; -ENOENT: it waits for none, or this
 * version's locks are not known. */
int py_lock_find(const struct py_runtime *rt, struct mem *live, const struct py_frame *f,
                 uint64_t sem, struct py_lock *ret);
/* Finds the holder of LOCK, found for SEM.  SCRATCH: for walks; overwritten.  Returns 0 and the
 * holder's pthread_t; -ENOENT: nobody, or unknown. */
int py_lock_holder(const struct py_runtime *rt, struct mem *live, const struct py_lock *lock,
                   uint64_t sem, struct py_stack *scratch, uint64_t *ret_thread_id);
