/* Finds pointers to Python frames in C frames.  Up to 3.9 no marker on the C stack tells one
 * activation of the eval loop from the next, but each keeps a pointer to the Python frame that
 * it runs, in a register or in a word of its C frame.  Private to pyframes/.  Pure.
 *
 * The activation's callers and callees often hold the same pointer: they made the frame, got it
 * as an argument, or saved the caller's register.  So the C frame must also be of the eval
 * function, or of a part that the compiler split off, which keeps the pointer in the same place
 * of an equally large C frame. */
#pragma once

#include "base/hash.h"
#include "unwinder/unwinder.h"

/* The shape of the eval function's C frames, as learned. */
struct py_eval_shape {
    struct map places; /* where the pointer is: a register, or bytes below the CFA */
    struct map sizes;  /* of the C frames, in bytes */
};

/* A set of addresses, such as those of the Python frames of one merge.  Most words of a stack
 * are none of them: the bounds or one bit say so. */
enum { PY_FRAME_PTRS_BITS = 4096 };
struct py_frame_ptrs {  /* zero-initialise, and clear before the first use */
    struct map blocks;  /* address → a number of the caller's */
    uint64_t low, high; /* the lowest and the highest address */
    uint64_t bits[PY_FRAME_PTRS_BITS / 64];
};
void py_frame_ptrs_clear(struct py_frame_ptrs *s);
void py_frame_ptrs_add(struct py_frame_ptrs *s, uint64_t addr, uint64_t ix);
void py_frame_ptrs_release(struct py_frame_ptrs *s);

/* Called for each address that a C frame holds; IX: the caller's number of it. */
typedef void (*py_frame_ptr_found)(void *ctx, uint64_t ix, uint64_t place);
/* Looks in the callee-saved registers and the words of F for the addresses FRAMES.  MEM: the
 * snapshot's; words that it does not have are passed over. */
void py_frame_ptr_each(const struct native_frame *f, struct mem *mem,
                       const struct py_frame_ptrs *frames, py_frame_ptr_found found, void *ctx);
/* F is of the eval function and holds the pointer to its Python frame at PLACE. */
void py_eval_shape_learn(struct py_eval_shape *s, const struct native_frame *f, uint64_t place);
/* F holds a pointer to a Python frame at PLACE.  Could it be of a part of the eval function? */
bool py_eval_shape_fits(const struct py_eval_shape *s, const struct native_frame *f,
                        uint64_t place);
void py_eval_shape_release(struct py_eval_shape *s);
