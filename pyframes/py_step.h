/* One frame of a walk at a time: read, validated, added to the stack.  Part of the walk
 * (py_walk.h), private to it. */
#pragma once

#include "pyframes/py_layout.h"
#include "pyframes/py_walk.h"

enum py_owner {
    PY_OWNER_GENERATOR = 1,
    PY_OWNER_FRAME_OBJECT = 2, /* of a function that has returned: never in a running chain */
    PY_OWNER_SHIM = 3,         /* 3.12+; this and all above: no Python function */
};

/* Steps are frames, also those without a code object, such as each block's shim.  The search for
 * callers takes fewer: the thread is held meanwhile. */
enum { PY_MAX_STEPS = 2 * PY_MAX_FRAMES, PY_MAX_RECORDED_STEPS = 1024 };

struct py_walker {
    const struct py_runtime *rt;
    struct mem *mem;
    struct py_stack *out;
    uint64_t thread;     /* the thread state */
    uint64_t base_frame; /* 3.15: ends the chain; else 0 */
    int error;           /* of the first read that failed */
    bool code_unread;    /* the capture has not recorded code objects of this walk */
    /* Brent's cycle search: the address seen at step MARKED_STEP, a power of two. */
    uint64_t marked;
    size_t steps, marked_step;
    size_t steps_before; /* of earlier walks of the same search */
};

/* A frame as read. */
struct py_step {
    uint64_t addr, previous, code, instr;
    int32_t lasti;
    uint32_t copy;
    uint8_t owner;
    bool is_entry;
};

/* Could ADDR be that of an object? */
bool py_step_is_address(uint64_t addr);
/* Reads a word; notes the first error in W. */
int py_step_word(struct py_walker *w, uint64_t addr, uint64_t *ret);
/* Reads the frame at ADDR. */
enum py_walk_end py_step_read(struct py_walker *w, uint64_t addr, struct py_step *ret);
/* Reads the frame at ADDR alone.  False: it cannot be read, or runs no code. */
bool py_step_read_one(const struct py_runtime *rt, struct mem *mem, uint64_t addr,
                      struct py_frame *ret);
/* Adds S to the stack; leaves out a frame whose code is no address: it is just being made or
 * cleared. */
enum py_walk_end py_step_add(struct py_walker *w, const struct py_step *s, uint64_t marker);
/* The frames from FIRST on are a block, with MARKER.  There may be none. */
void py_step_close_block(struct py_walker *w, size_t first, uint64_t marker);
/* The offset of S's instruction, or PY_LASTI_…. */
int32_t py_step_lasti(const struct py_layout *l, const struct py_step *s);
/* Keeps the worst end of all chains. */
void py_step_note_end(struct py_stack *out, enum py_walk_end end);
