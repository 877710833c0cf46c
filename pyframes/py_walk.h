/* Walks a thread's Python frames, in live memory or a snapshot's.  Everything read is validated and
 * bounded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pyframes/py_runtime.h"

enum {
    PY_MAX_FRAMES = 16384,
    PY_MAX_STATES = 8, /* of one thread */
    PY_MAX_LEFT = 64,  /* CPython nests destructors some 50 deep */
    PY_LASTI_NOT_STARTED = -1,
    /* The offset is unknown (free-threaded 3.14+: INSTR is in the thread's own copy of the
     * bytecode). */
    PY_LASTI_UNKNOWN = INT32_MIN,
};

/* One Python function in progress; a shim is not one.  A block is the frames that one activation of
 * the eval loop (one C frame) runs.  They follow one another; the last, which is the outermost, has
 * ENTRY set.  All frames of a block have the same MARKER:
 *   ≤ 3.9   0.  Every frame is a block of its own: look for SELF in the C frame's callee-saved
 *           registers or words.
 *   3.10    the CFrame of that activation.  Every frame is a block of its own.  0 for all frames if
 *           the chains of frames and of CFrames differ in length: look for SELF.
 *   3.11    the _PyCFrame of that activation.
 *   3.12+   the shim below the block's outermost frame (3.12's _PyCFrame lies beside it).
 * A marker lies in the locals of its C frame: sp <= marker < CFA.  Markers of one thread rise from
 * the innermost block to the outermost.  If the walk ended early (end is not PY_WALK_DONE) the last
 * block may lack its outermost frames: then none of its frames has ENTRY, and from 3.12 on its
 * MARKER is 0.  An activation that is just being entered or left yields no frame. */
struct py_frame {
    uint64_t self;  /* address of the frame object or interpreter frame */
    uint64_t code;  /* address of its code object, tags removed */
    int32_t lasti;  /* byte offset of the instruction in all versions, or PY_LASTI_… */
    uint64_t instr; /* 3.11+: address of that instruction; else 0 */
    /* 3.14+ free-threaded: instr is in this copy of the bytecode, the thread's own, and lasti is
     * unknown here: py_code_lasti().  0: instr is in the code object. */
    uint32_t copy;
    bool entry;      /* the outermost frame of one activation of the eval loop */
    uint64_t marker; /* an address inside the C frame of that activation; 0: none */
};

enum py_walk_end {
    PY_WALK_DONE,       /* every chain was followed to its end */
    PY_WALK_CUT,        /* a link was no possible address, or led back: the rest is unknown */
    PY_WALK_BAD_MEMORY, /* a link could not be read (or was not recorded) */
    PY_WALK_TORN,       /* every chain to its end, without a part that was just being written */
    PY_WALK_TOO_DEEP,   /* more than PY_MAX_FRAMES, or than OUT holds */
};

struct py_stack {
    struct py_frame *frames; /* [0] innermost; the caller's, capacity items */
    size_t n, capacity;
    enum py_walk_end end;
    size_t n_states; /* thread states that were walked; 0: none of the thread is known */
    uint64_t states[PY_MAX_STATES];
    size_t state_ends[PY_MAX_STATES]; /* where the frames of each end */
    /* 3.12+: markers of activations that have left their last frame, at most PY_MAX_LEFT.  One may
     * still call others: the destructors of objects that its last frame held. */
    uint64_t left[PY_MAX_LEFT];
    size_t n_left;
};

/* Walks the frames of the thread states THREAD_STATES[0..N), at most PY_MAX_STATES, through MEM.
 * The merge interleaves several states of one thread.  Returns 0; a negative errno: OUT has the
 * frames that were read before it. */
int py_walk(const struct py_runtime *rt, struct mem *mem, const uint64_t *thread_states, size_t n,
            struct py_stack *out);
/* 3.11 and 3.12, after a walk of THREAD_STATE that found no frame at all: an activation is just
 * being entered, and nothing leads to its caller.  The caller's C frame is [LOW, HIGH) and has its
 * cframe: walks from there.  True: OUT has all but the new activation and ends as PY_WALK_TORN.
 * False: no sound chain begins there; OUT is as empty as before. */
bool py_walk_caller(const struct py_runtime *rt, struct mem *mem, uint64_t thread_state,
                    uint64_t low, uint64_t high, struct py_stack *out);
/* After such a walk, while the thread cannot move: reads through RECORDING each chain that begins
 * where that cframe may be, for py_walk_caller().  SCRATCH is overwritten. */
void py_walk_record_callers(const struct py_runtime *rt, struct mem *recording,
                            uint64_t thread_state, struct py_stack *scratch);
