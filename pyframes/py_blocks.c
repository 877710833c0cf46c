#include "pyframes/py_blocks.h"

#include <string.h>

/* The block at ADDR; NULL: it cannot be read whole. */
static const struct py_kept_block *block_at(struct py_blocks *b, uint64_t addr)
{
    struct py_kept_block *block = &b->blocks[addr / PY_BLOCK_BYTES % PY_BLOCKS];
    if (block->addr == addr && addr)
        return block;
    block->addr = 0;
    if (mem_read(b->under, addr, block->bytes, sizeof block->bytes) < 0)
        return NULL;
    block->addr = addr;
    return block;
}

static int blocks_read(struct mem *mem, uint64_t addr, void *buf, size_t len)
{
    struct py_blocks *b = (struct py_blocks *)mem;
    uint8_t *to = buf;
    if (len > PY_BLOCK_BYTES || addr + len < addr)
        return mem_read(b->under, addr, buf, len);
    for (size_t done = 0; done < len;) {
        uint64_t at = addr + done;
        uint64_t start = at / PY_BLOCK_BYTES * PY_BLOCK_BYTES;
        size_t n = (size_t)(start + PY_BLOCK_BYTES - at);
        n = n < len - done ? n : len - done;
        const struct py_kept_block *block = block_at(b, start);
        if (!block)
            return mem_read(b->under, addr, buf, len);
        memcpy(to + done, block->bytes + (at - start), n);
        done += n;
    }
    return 0;
}

void py_blocks_init(struct py_blocks *b, struct mem *under)
{
    static const struct mem_ops ops = {.read = blocks_read};
    b->mem = (struct mem){&ops};
    b->under = under;
    py_blocks_clear(b);
}

void py_blocks_clear(struct py_blocks *b)
{
    for (size_t i = 0; i < PY_BLOCKS; i++)
        b->blocks[i].addr = 0;
}
