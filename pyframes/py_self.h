/* Up to 3.9 no marker on the C stack tells the activations of the eval loop apart; but each keeps
 * the Python frame that it runs, in a register or in a word of its own.  This finds it there. Part
 * of the merge, private to it.  Pure.
 *
 * Its callers and callees often hold the same address: who made the frame, who got it as an
 * argument, who saved the caller's register.  So being held is not enough; the C frame must also be
 * of the eval function, or of a part that the compiler split off and that keeps the address in the
 * same place of an equally large frame. */
#pragma once

#include "base/hash.h"
#include "unwinder/unwinder.h"

/* What the frames of the eval function proved to look like. */
struct py_self {
    struct map places; /* where the address is: a register, or bytes below the CFA */
    struct map sizes;  /* of its C frames, in bytes */
};

/* The Python frames of one merge.  Most words of a stack are none of them: they lie elsewhere, or one bit says so. */
enum { PY_SELVES_BITS = 4096 };
struct py_selves {      /* zero-initialise, and clear before the first use */
    struct map blocks;  /* address → ix, the caller's */
    uint64_t low, high; /* the lowest and the highest address */
    uint64_t bits[PY_SELVES_BITS / 64];
};
void py_selves_clear(struct py_selves *s);
void py_selves_add(struct py_selves *s, uint64_t addr, uint64_t ix);
void py_selves_release(struct py_selves *s);

/* Called for each Python frame held by a C frame; IX is what FRAMES says for it. */
typedef void (*py_self_found)(void *ctx, uint64_t ix, uint64_t place);
/* Looks in the callee-saved registers and the words of F for addresses in FRAMES.
 * MEM: the snapshot's; words that it does not hold are passed over. */
void py_self_each(const struct native_frame *f, struct mem *mem, const struct py_selves *frames,
                  py_self_found found, void *ctx);
/* F holds its Python frame at PLACE, and is of the eval function. */
void py_self_learn(struct py_self *s, const struct native_frame *f, uint64_t place);
/* Could F, which holds a Python frame at PLACE, be a part of the eval function? */
bool py_self_alike(const struct py_self *s, const struct native_frame *f, uint64_t place);
void py_self_release(struct py_self *s);
