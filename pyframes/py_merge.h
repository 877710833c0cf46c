/* The merge makes one stack of two: it replaces each activation of the eval loop on the native
 * stack by the block of Python frames that it runs.  Both are paired from the root, by address,
 * never by counting or by name: from 3.10 on the block's marker lies in the C frame, up to 3.9 the
 * C frame holds a pointer to the frame object.  Pure.  Source: docs/python-versions.md. */
#pragma once

#include "pyframes/py_walk.h"
#include "unwinder/unwinder.h"

enum py_merge_result {
    PY_MERGE_NO_PYTHON, /* the thread has no Python frames: the native stack as it is */
    PY_MERGE_EXACT,
    PY_MERGE_ENTERING,   /* exact, but for a top eval frame without a Python frame */
    PY_MERGE_NATIVE_CUT, /* the native stack ended early: unmatched Python frames are kept */
    PY_MERGE_MISMATCH,   /* something did not match: the certain part is kept */
    PY_MERGE_COUNT,
};

enum { MERGED_NATIVE, MERGED_PYTHON, MERGED_NOTE };
struct merged_frame {
    uint8_t kind;
    uint32_t index;   /* into the native or Python stack */
    const char *note; /* MERGED_NOTE: a literal such as "[greenlet]" */
};
struct merged_stack {
    struct merged_frame *frames; /* [0] innermost; the caller's */
    size_t n, capacity;
    enum py_merge_result result;
    bool root_matched; /* the outermost Python frame has its eval frame, which may lack a caller */
    /* Activations of the eval loop whose Python frames are missing.  If there is no Python frame at
     * all, also those that may be another greenlet's, or are just being entered. */
    size_t unmatched;
    /* A bit for each thread state that was walked but that this thread does not run: its frames are
     * not among these. */
    uint32_t elsewhere;
};

/* Remembers which functions (FDEs) proved to be the eval loop of RT, so that it recognises an
 * activation without a Python frame.  One per runtime, used by one thread.  Borrows RT. */
struct py_merger;
struct py_merger *py_merger_new(const struct py_runtime *rt);
/* Merges NATIVE and PY, of one capture of one thread.  NATIVE may be empty: then PY alone is
 * wanted.  MEM: the snapshot's, for the words of C frames (≤ 3.9 only).  SYSCALL: the call that the
 * thread is in (struct snapshot); below 0: none.  OUT must have room for py_merge_room(native->n,
 * py->n) items; all of OUT is filled in.  Never fails: OUT->result says how well it went. */
static inline size_t py_merge_room(size_t n_native, size_t n_python)
{
    return 2 * n_native + n_python + 8; /* notes: one for each native frame, and a few */
}
void py_merge(struct py_merger *m, struct mem *mem, const struct native_stack *native,
              const struct py_stack *py, int64_t syscall, struct merged_stack *out);
/* Where an eval frame is that unwinding may resume from.  Unwinding ended early at the stack
 * pointer ABOVE; the nearest marker further out lies in an eval frame, and exact merges have shown
 * how far a marker is from both ends of its C frame.  Returns how many frames RET has: one for each
 * function that proved to be the eval loop. */
enum { PY_MAX_KNOWN = 4 };
size_t py_merge_known(const struct py_merger *m, const struct py_stack *py, uint64_t above,
                      struct known_frame ret[PY_MAX_KNOWN]);
/* The C frame [*RET_LOW, *RET_HIGH) of the activation that called the innermost one.  False: there
 * is none, or it is not known. */
bool py_merge_caller(const struct py_merger *m, const struct native_stack *native,
                     uint64_t *ret_low, uint64_t *ret_high);
struct py_merger *py_merger_free(struct py_merger *m); /* NULL is fine; returns NULL */

/* Is frame I of NATIVE, whose code is in no file, code of CPython's own JIT compiler?  The
 * compilers of 3.13 and 3.14 announce their code nowhere, and it has no unwind information.  The
 * eval loop itself calls it, so the stack is right even if the frame was guessed.  Call it after
 * py_merge() of NATIVE. */
bool py_merge_is_jit(const struct py_merger *m, const struct native_stack *native, size_t i);
