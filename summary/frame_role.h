/* The role of a frame for the reader of a stack: their own code, a library's, or glue on the
 * way. */
#pragma once

#include "base/text.h"
#include "summary/view.h"

struct known_row;
enum frame_role {
    ROLE_GLUE,    /* entry frames, wrappers, code without a name: passed over */
    ROLE_LIBC,    /* a function of the C library: never the culprit */
    ROLE_LIBRARY, /* the standard library, installed packages, system libraries */
    ROLE_OWN,     /* the user's */
};
/* The role of F, which is no wait.  BLOCKED: the stack ends in a wait, so that the C library is
 * only the way to it, except for malloc and its kin, whose locks are theirs. */
enum frame_role frame_role(const struct shown_frame *f, bool blocked);
/* Code that is only on the way to a wait or to a thread's first function: entry frames, the C
 * library but for malloc, C++'s and Rust's standard libraries, the interpreter, threading.py; no
 * frames of pools' loops (known.def). */
bool is_glue_frame(const struct shown_frame *f);
/* The C library, the maths library, the dynamic linker or the vdso. */
bool module_is_libc(const char *module);
/* The row of the allocator that F is a function of; NULL: of none that is known.  musl's, which
 * lies in the dynamic linker, has no knobs. */
const struct known_row *frame_allocator(const struct shown_frame *f);
/* The C library's malloc(), free() and what they are made of. */
bool frame_is_malloc(const struct shown_frame *f);
/* What a signal handler returns to.  Its caller was interrupted, and did not call.
 * Source: signal(7); glibc sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c; the vDSO's of arm64. */
bool frame_is_signal(const struct shown_frame *f);
/* Asyncio's own functions of Python's. */
bool frame_is_asyncio(const struct shown_frame *f);
/* What pickles, sends, receives or unpickles a message.  Other files of multiprocessing's call the
 * user's functions.  Source: CPython Lib/multiprocessing; loky's backend is made like it. */
bool frame_passes_data(const struct shown_frame *f);
