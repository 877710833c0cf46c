/* Memory read through blocks that are kept: for many small reads that lie together.  The bytes are
 * of the time when their block was read, until py_blocks_clear(). */
#pragma once

#include "target/mem.h"

enum { PY_BLOCK_BYTES = 256, PY_BLOCKS = 64 };

struct py_kept_block {
    uint64_t addr; /* 0: free */
    uint8_t bytes[PY_BLOCK_BYTES];
};
struct py_blocks {
    struct mem mem; /* to be read from */
    struct mem *under;
    struct py_kept_block blocks[PY_BLOCKS];
};
void py_blocks_init(struct py_blocks *b, struct mem *under); /* borrows UNDER */
void py_blocks_clear(struct py_blocks *b);
