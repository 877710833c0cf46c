/* The frames of a stack that say where a thread is: the reader's own code and that of libraries,
 * with the call at its end.  The C library, the standard libraries of C++ and Rust, the
 * interpreter, and entry frames are left out.  Pure. */
#pragma once

#include "summary/view.h"

enum brief_hidden {
    BRIEF_LIBC,
    BRIEF_CPP,
    BRIEF_RUST,
    BRIEF_GO,
    BRIEF_CPYTHON, /* the interpreter's own C code, and Python's modules that only wait */
    BRIEF_WRAPPERS,
    BRIEF_LIBRARIES, /* of many in a row those between the outermost and the innermost two */
    BRIEF_KINDS,
};
struct brief_frame {
    size_t at;      /* index in the stack as shown */
    size_t repeats; /* how often it calls itself; 1: it does not */
    size_t skipped; /* frames left out of a long stack before it */
    bool call;      /* the call of C or C++ that the function below it makes */
};
enum { BRIEF_MAX_FRAMES = 24 };
struct brief_stack {
    struct brief_frame frames[BRIEF_MAX_FRAMES]; /* innermost first */
    size_t n;
    size_t hidden[BRIEF_KINDS]; /* frames that are in no list, nor skipped */
};

/* STACK outermost first, as shown.  BLOCKED: the thread is off the CPU, in a call that stands
 * elsewhere; otherwise the innermost function of the C library stays.  Every stack that has a frame
 * beside its wait keeps one. */
void brief_stack_of(const struct shown_frame *stack, size_t n, bool blocked,
                    struct brief_stack *ret);
/* "libc", "libstdc++", … */
const char *brief_hidden_name(enum brief_hidden kind);
