/* Matches blocks of Python frames with eval frames: the C frames of the eval loop that run them.
 * Part of the merge, private to it.  Pure. */
#pragma once

#include "base/hash.h"
#include "pyframes/py_frame_ptr.h"
#include "pyframes/py_merge.h"

#define UNMATCHED SIZE_MAX

/* The Python frames [FIRST, END) of one activation of the eval loop. */
struct py_block {
    size_t first, end;
    uint64_t marker;   /* 0: its eval frame is found by the address of its first Python frame */
    uint64_t order;    /* among blocks: the marker, or that of the block before it */
    bool whole;        /* its outermost frame is there */
    size_t eval_frame; /* index of the native frame; UNMATCHED: it has none */
};

/* Where the C frames of one function lie around their markers. */
struct py_placement {
    uint64_t function, pc; /* the pc of a call */
    uint64_t below;        /* bytes from the stack pointer at that call to the marker */
    uint64_t above;        /* bytes from the marker to the CFA */
};

struct py_merger {
    const struct py_runtime *rt;
    struct py_placement placements[PY_MAX_KNOWN];
    size_t n_placements;
    struct map evals; /* starts of the functions that are the eval loop, or a part of it */
    struct py_eval_shape eval_shape;
    struct py_frame_ptrs frames; /* the Python frames of this merge, and the block of each */
    struct py_block *blocks;
    size_t n, capacity;
    size_t *block_at; /* by native index; UNMATCHED: the frame runs no block */
    size_t block_at_capacity;
};

/* Splits PY into the blocks of M and finds the eval frame of each in NATIVE.  Returns a bit for
 * each thread state of PY that another thread runs, or ran before it ended; only a C stack that is
 * whole shows that.  The frames of such a thread state are in no block. */
uint32_t py_match_blocks(struct py_merger *m, struct mem *mem, const struct native_stack *native,
                         const struct py_stack *py);
/* Is F an activation that has left its last Python frame?  It may still run destructors of objects
 * that the frame held. */
bool py_match_was_left(const struct py_merger *m, const struct py_stack *py,
                       const struct native_frame *f);
/* Is F an activation of a function that was seen to be the eval loop? */
bool py_match_is_eval(const struct py_merger *m, const struct native_frame *f);
