/* Finds the holder of the Python Lock or RLock that a thread waits for.  Live memory; a change
 * meanwhile makes the answer "unknown".
 *
 * An RLock keeps its owner.  A Lock does not: but `with lock:` keeps the lock's __exit__ on its
 * frame's value stack, where the code's exception table says: bound (3.11 to 3.13), or with the
 * lock above it (3.14, 3.15; not of free-threaded builds).  A holder whose code may give the lock
 * up inside of that statement is not named, nor one of two.
 * Source: CPython Modules/_threadmodule.c; Include/cpython/lock.h (3.14); Python/bytecodes.c,
 * codegen.c; Objects/exception_handling_notes.txt (3.11); Include/internal/pycore_frame.h;
 * Include/cpython/code.h, frameobject.h. */
#pragma once

#include "pyframes/py_walk.h"

struct py_lock {
    uint64_t addr; /* of the object */
    bool reentrant;
};
/* Finds the lock made of the semaphore SEM, on whose word a thread waits, on the value stack of F,
 * its innermost frame.  Returns 0; -ENOENT: it is not there, or this version's locks are not
 * known. */
int py_lock_find(const struct py_runtime *rt, struct mem *live, const struct py_frame *f,
                 uint64_t sem, struct py_lock *ret);
/* Finds the holder of LOCK, found for SEM.  SCRATCH: for walks; overwritten.  Returns 0 and the
 * holder's pthread_t; -ENOENT: nobody, or unknown. */
int py_lock_holder(const struct py_runtime *rt, struct mem *live, const struct py_lock *lock,
                   uint64_t sem, struct py_stack *scratch, uint64_t *ret_thread_id);
