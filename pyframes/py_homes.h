/* Blocks of Python frames, and the C frame ("home") in which each is run.  Part of the merge, private to it.
 * Pure. */
#pragma once

#include "base/hash.h"
#include "pyframes/py_merge.h"
#include "pyframes/py_self.h"

#define NOWHERE SIZE_MAX

/* The Python frames [FIRST, END) of one activation of the eval loop. */
struct block {
    size_t first, end;
    uint64_t marker; /* 0: find it by the frame's address */
    uint64_t order;
    bool whole;  /* its outermost frame is there */
    size_t home; /* index of the native frame; NOWHERE */
};

/* Where the C frames of one function lie around their markers. */
struct placement {
    uint64_t function, pc; /* the pc of a call */
    uint64_t below,
        above; /* from the stack pointer at that call to the marker, from there to the CFA */
};

struct py_merger {
    const struct py_runtime *rt;
    struct placement placements[PY_MAX_KNOWN];
    size_t n_placements;
    struct map evals; /* starts of the functions that are the eval loop, or a part of it */
    struct py_self self;
    struct py_selves frames; /* of this merge: to their blocks */
    struct block *blocks;
    size_t n, capacity;
    size_t *block_at; /* by native index; NOWHERE */
    size_t block_at_capacity;
};

/* Splits PY into the blocks of M, and finds the homes of those that have one in NATIVE.  Returns a bit for each
 * thread state of PY of which the whole C stack shows that another thread runs it, or ran it before it ended:
 * their frames are no blocks. */
uint32_t py_homes_find(struct py_merger *m, struct mem *mem, const struct native_stack *native,
                       const struct py_stack *py);
/* Is F an activation whose last Python frame was left?  It may still run destructors of what that
 * held. */
bool py_homes_left(const struct py_merger *m, const struct py_stack *py,
                   const struct native_frame *f);
/* Is ADDR among the bytes of F? */
bool py_homes_contain(const struct native_frame *f, uint64_t addr);
/* Is F an activation of a function that was seen to be the eval loop? */
bool py_homes_eval(const struct py_merger *m, const struct native_frame *f);
/* May F be one, by whose code it runs? */
bool py_homes_possible(const struct py_merger *m, const struct native_frame *f);
