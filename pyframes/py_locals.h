/* The arguments and other local variables of Python functions in progress: names and short values,
 * for dump --locals.
 *
 * All that is read is hostile and bounded.  Objects of the interpreter's own types are shown by
 * value: None, bool, int, float, str, bytes; list, tuple, dict and set by length; all others by the
 * type's name.  The target's code is never run, as repr() would do.
 * Source: CPython Include/cpython/code.h, longintrepr.h, floatobject.h, listobject.h, dictobject.h,
 * setobject.h, cellobject.h, each of 3.6 to 3.15. */
#pragma once

#include "base/text.h"
#include "pyframes/py_walk.h"

enum {
    PY_LOCALS_MAX_FRAMES = 48, /* of a stack, innermost first; the hold would get long */
    PY_LOCALS_MAX_ARGUMENTS = 16,
    PY_LOCALS_MAX_VARIABLES = 48, /* of a frame, with the arguments */
    PY_LOCALS_MAX_TOTAL = PY_LOCALS_MAX_FRAMES * PY_LOCALS_MAX_ARGUMENTS, /* of a stack */
};
/* While the thread of STACK cannot move: reads through RECORDING, which keeps every byte, what
 * py_locals_add() will need, of arguments or of ALL variables.  Allocates nothing. */
void py_locals_record(const struct py_runtime *rt, struct mem *recording,
                      const struct py_stack *stack, bool all);
struct py_local {
    size_t frame;  /* which of FRAMES below has it */
    bool argument; /* else it is another variable */
    uint64_t addr; /* of its object */
    char *name, *value;
};
struct py_locals {       /* of the frames of a stack; zero-initialise */
    struct text *frames; /* their arguments, as one text each */
    size_t n, capacity;
    struct py_local *variables;
    size_t n_variables, variables_capacity;
};
/* Adds a text for F: "limit=100, name='w0', items=list of 3"; "" if it has no arguments or they
 * were not recorded.  ALL: adds its variables, too.  A value whose name is like a secret's, or that
 * looks like a password in a URL, is "***".  All texts are tamed.  MEM: the snapshot's. */
void py_locals_add(struct py_locals *l, const struct py_runtime *rt, struct mem *mem,
                   const struct py_frame *f, bool all);
struct py_locals py_locals_take(struct py_locals *l); /* L is empty then */
void py_locals_clear(struct py_locals *l);            /* keeps the storage */
void py_locals_release(struct py_locals *l);
