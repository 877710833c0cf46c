/* Finds the `with` statement in which a frame holds a lock, by what the statement keeps on the
 * frame's value stack, where the frame's block stack says (up to 3.10) or the code's exception
 * table: the __exit__ of its object, bound (up to 3.13), or with the object above it (3.14, 3.15;
 * not of free-threaded builds).  That object is
 *   the lock;
 *   one whose class's __exit__ releases an attribute that is the lock, as a Condition's does, and
 *   so all of queue.Queue;
 *   a context manager of contextlib's, whose generator waits in such a statement for its body's
 *   end.
 * Private to pyframes/.  Live memory.
 * Source: CPython Python/bytecodes.c, codegen.c; Objects/exception_handling_notes.txt (3.11);
 * Include/internal/pycore_frame.h; Include/cpython/code.h, frameobject.h, funcobject.h; for 3.6 to
 * 3.10 Python/ceval.c (SETUP_WITH), Include/frameobject.h, genobject.h;
 * Lib/threading.py (Condition), Lib/contextlib.py (_GeneratorContextManagerBase). */
#pragma once

#include "pyframes/py_walk.h"

enum {
    PY_MAX_SLOTS = 64,  /* of a value stack that are looked at */
    PY_MAX_WITH = 1 + 8 /* a frame, and the generators that its statements lead to */
};
enum py_with_kind {
    PY_WITH_NONE,
    PY_WITH_LOCK,
    PY_WITH_OWNER, /* of an object that has the lock */
};
struct py_with {
    enum py_with_kind kind;
    struct py_frame frames[PY_MAX_WITH]; /* that were looked at; the last one is in the statement */
    size_t n;
};
/* Is F within a statement that holds LOCK? */
struct py_with py_with_find(const struct py_runtime *rt, struct mem *live, const struct py_frame *f,
                            uint64_t lock);
/* Up to PY_MAX_SLOTS values of F's stack, used or not.  Returns how many. */
size_t py_with_slots(const struct py_layout *l, struct mem *live, const struct py_frame *f,
                     uint64_t ret[PY_MAX_SLOTS]);
/* The object that the bound method at ADDR is of; 0: unknown, or no such method. */
uint64_t py_with_self(const struct py_layout *l, struct mem *live, uint64_t addr);
/* Does the code object at CODE use any of NAMES, which ends in NULL?  IF_UNREAD: the answer where
 * that cannot be read. */
bool py_with_uses(const struct py_layout *l, struct mem *live, uint64_t code,
                  const char *const *names, bool if_unread);
