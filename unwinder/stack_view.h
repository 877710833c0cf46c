/* The memory that one unwind may read: the snapshot's stack bytes, directly, and all other recorded
 * memory.  Counts how much of the stack was used. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/snapshot.h"

struct stack_view {
    const uint8_t *bytes; /* of [start, start + len); NULL: ask mem */
    uint64_t start, len;
    bool cut; /* the stack goes on above */
    /* The stack that a signal interrupted; its bytes are in mem. */
    uint64_t other_start, other_len;
    bool other_cut;
    struct mem *mem;
    /* Bytes above a stack's start up to the highest word read; of that stack which needed more. */
    uint64_t used;
    uint64_t wanted; /* the same, of the highest word that lay above what was copied; 0: none */
    bool elsewhere;  /* a word was asked for that is not among BYTES */
};

void stack_view_init(struct stack_view *v, const struct snapshot *s);
/* Reads the word at ADDR.  Returns 0, -ERANGE (on this stack, but above what was copied) or
 * -EFAULT. */
int stack_view_u64(struct stack_view *v, uint64_t addr, uint64_t *ret);
