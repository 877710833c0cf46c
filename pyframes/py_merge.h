/* One stack out of two: each activation of the eval loop on the native stack is replaced by the
 * block of Python frames it runs.  By address (3.10+: the marker lies in the frame; ≤ 3.9: the
 * frame object is found in the frame's registers or words), paired from the root, never by counting
 * or by name. Pure.  Source: docs/python-versions.md "Merge". */
#pragma once

#include "pyframes/py_walk.h"
#include "unwinder/unwinder.h"

enum py_merge_result {
    PY_MERGE_NO_PYTHON, /* the thread has no Python frames: the native stack as it is */
    PY_MERGE_EXACT,
    PY_MERGE_ENTERING,   /* exact, but for an eval frame at the top that has no Python frame yet or
                            any more */
    PY_MERGE_NATIVE_CUT, /* the native stack ended early: Python frames without a native home are
                            kept */
    PY_MERGE_MISMATCH,   /* something did not match: all that is certain is kept */
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
    bool root_at_home; /* the outermost Python frame has its C frame, which may lack a caller */
    size_t
        unmatched; /* activations of the eval loop whose Python frames are not there; also those that may be
                           another greenlet's, or just be entered, if there is no Python frame at all */
    uint32_t
        elsewhere; /* a bit for each thread state that was walked: this thread does not run it, and its
                           frames are not among these */
};

/* Remembers which functions (FDEs) were proven to be the eval loop of RT, so that an activation
 * without a Python frame is known again.  One per runtime, used by one thread.  Borrows RT. */
struct py_merger;
struct py_merger *py_merger_new(const struct py_runtime *rt);
/* Merges NATIVE and PY, of one capture of one thread.  MEM: the snapshot's, for the words of frames
 * (≤ 3.9 only).  NATIVE may be empty and PY alone
 * be wanted.  SYSCALL: the one that the thread is in (struct snapshot); below 0: none.  OUT must hold py_merge_room(native->n, py->n) items; all of it is filled in.  Never fails:
 * how well it went is OUT->result. */
static inline size_t py_merge_room(size_t n_native, size_t n_python)
{
    return 2 * n_native + n_python + 8; /* notes: one for each native frame, and a few */
}
void py_merge(struct py_merger *m, struct mem *mem, const struct native_stack *native,
              const struct py_stack *py, int64_t syscall, struct merged_stack *out);
/* After merges that were exact the distance is known from a marker to the end of the C frame around it: where
 * unwinding ended early, at the stack pointer ABOVE, the nearest marker further out says where an activation of the
 * eval loop is.  Returns how many it may be, one for each function that was seen to be the eval loop. */
enum { PY_MAX_KNOWN = 4 };
size_t py_merge_known(const struct py_merger *m, const struct py_stack *py, uint64_t above,
                      struct known_frame ret[PY_MAX_KNOWN]);
/* The C frame [*RET_LOW, *RET_HIGH) of the activation that called the innermost one.  False: none is
 * known. */
bool py_merge_caller(const struct py_merger *m, const struct native_stack *native,
                     uint64_t *ret_low, uint64_t *ret_high);
struct py_merger *py_merger_free(struct py_merger *m); /* NULL is fine; returns NULL */

/* Is frame I of NATIVE, if no file holds it, code of CPython's own JIT compiler?  3.13's and 3.14's tell
 * nobody; it has no unwind information, and the eval loop itself calls it: so it did not matter if that was a
 * guess.  After py_merge() of NATIVE. */
bool py_merge_is_jit(const struct py_merger *m, const struct native_stack *native, size_t i);

/* Is FUNCTION (a C name from the interpreter's module) CPython's plumbing between Python frames,
 * hidden unless --internals?  Names such as _PyEval_Vector, PyObject_Call,
 * cfunction_vectorcall_NOARGS. */
bool py_is_plumbing(const char *function);
/* The same of code that was compiled while Python ran: CPython's perf trampolines and its own JIT's code,
 * which stand beside the Python frames that they run for: "py::f:/a.py", PY_JIT_NAME. */
#define PY_JIT_NAME "py::jit:executor"
bool py_is_jit_plumbing(const char *function);
