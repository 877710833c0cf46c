/* Walks a thread's Python frames.  Works on live memory and on a snapshot's alike; everything read
 * is validated and bounded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pyframes/py_runtime.h"

enum { PY_MAX_FRAMES = 16384 };

struct py_frame {
    uint64_t self;  /* address of the frame object or interpreter frame */
    uint64_t code;  /* address of its code object, tags removed */
    int32_t lasti;  /* byte offset of the instruction; −1: not started */
    uint64_t instr; /* 3.11+: address of the instruction, from which lasti follows once the code is
                       known */
    bool entry;     /* the outermost frame of one activation of the eval loop */
    uint64_t marker; /* an address inside the C frame of that activation; 0: none (≤ 3.9: match SELF
                        instead) */
};

enum py_walk_end { PY_WALK_DONE, PY_WALK_CUT, PY_WALK_BAD_MEMORY, PY_WALK_TORN, PY_WALK_TOO_DEEP };

struct py_stack {
    struct py_frame *frames; /* [0] innermost; the caller's, capacity items */
    size_t n, capacity;
    enum py_walk_end end;
};

/* Walks the frames of the thread states THREAD_STATES[0..N) through MEM.  Several on one thread are
 * interleaved by the merge.  Returns 0, or a negative errno with what was read so far in OUT. */
int py_walk(const struct py_runtime *rt, struct mem *mem, const uint64_t *thread_states, size_t n,
            struct py_stack *out);

enum py_gil { PY_GIL_NONE, PY_GIL_HOLDING, PY_GIL_WAITING, PY_GIL_ABSENT };
/* What the thread has to do with the GIL.  SYSCALL, ARG0: of the thread's system call (−1 none). */
enum py_gil py_gil_state(const struct py_runtime *rt, struct mem *mem, uint64_t thread_state,
                         int64_t syscall, uint64_t arg0);
