#include "target/mem_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* A block lies within one page, so it is readable as a whole or not at all. */
enum { BLOCK = 256, SLOTS = 256 };

struct mem_blocks {
    struct mem mem;
    struct mem *of; /* NULL: none yet */
    uint64_t look;  /* blocks of an earlier one are forgotten */
    struct {
        uint64_t look, addr;
        uint8_t bytes[BLOCK];
    } slots[SLOTS];
};

/* The block at ADDR, a multiple of BLOCK; NULL with *RET set: it cannot be read. */
static const uint8_t *block_at(struct mem_blocks *b, uint64_t addr, int *ret)
{
    size_t at = hash_u64(addr) % SLOTS;
    if (b->slots[at].look == b->look && b->slots[at].addr == addr)
        return b->slots[at].bytes;
    b->slots[at].look = 0;
    *ret = b->of ? mem_read(b->of, addr, b->slots[at].bytes, BLOCK) : -EFAULT;
    if (*ret < 0)
        return NULL;
    b->slots[at].look = b->look;
    b->slots[at].addr = addr;
    return b->slots[at].bytes;
}

static int blocks_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    uint8_t *out = buf;
    int r = 0;
    while (len) {
        size_t skip = addr % BLOCK;
        size_t n = BLOCK - skip < len ? BLOCK - skip : len;
        const uint8_t *block = block_at((struct mem_blocks *)m, addr - skip, &r);
        if (!block)
            return r;
        memcpy(out, block + skip, n);
        out += n;
        addr += n;
        len -= n;
    }
    return 0;
}

static void blocks_forget(struct mem *m)
{
    ((struct mem_blocks *)m)->look++;
}

static void blocks_free(struct mem *m)
{
    free(m);
}

static const struct mem_ops blocks_ops = {
    .read = blocks_read, .forget = blocks_forget, .free = blocks_free};

struct mem *mem_blocks_new(void)
{
    struct mem_blocks *b = xcalloc(1, sizeof *b);
    b->mem.ops = &blocks_ops;
    b->look = 1;
    return &b->mem;
}

void mem_blocks_set(struct mem *m, struct mem *of)
{
    ((struct mem_blocks *)m)->of = of;
    mem_forget(m);
}
