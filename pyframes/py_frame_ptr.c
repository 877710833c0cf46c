#include "pyframes/py_frame_ptr.h"

#include <string.h>

/* The eval function's C frames have 200 to 600 bytes; a larger one is not of it. */
enum { FRAME_MAX_BYTES = 4096, WORD_BYTES = 8, FIRST_SLOT = REG_COUNT };

static uint64_t size_of(const struct native_frame *f)
{
    return f->cfa > f->sp ? f->cfa - f->sp : 0;
}

/* Python frames are aligned to 16 bytes and some hundred bytes apart. */
static uint64_t bit_of(uint64_t addr)
{
    return (addr >> 4 ^ addr >> 14) % PY_FRAME_PTRS_BITS;
}

void py_frame_ptrs_clear(struct py_frame_ptrs *s)
{
    map_clear(&s->blocks);
    memset(s->bits, 0, sizeof s->bits);
    s->low = UINT64_MAX;
    s->high = 0;
}

void py_frame_ptrs_add(struct py_frame_ptrs *s, uint64_t addr, uint64_t ix)
{
    map_put(&s->blocks, addr, ix);
    s->bits[bit_of(addr) / 64] |= UINT64_C(1) << bit_of(addr) % 64;
    s->low = addr < s->low ? addr : s->low;
    s->high = addr > s->high ? addr : s->high;
}

static inline void report(const struct py_frame_ptrs *frames, uint64_t value, uint64_t place,
                          py_frame_ptr_found found, void *ctx)
{
    uint64_t ix = 0;
    bool within = frames->low <= value && value <= frames->high;
    if (within && frames->bits[bit_of(value) / 64] >> bit_of(value) % 64 & 1 &&
        map_get(&frames->blocks, value, &ix))
        found(ctx, ix, place);
}

void py_frame_ptr_each(const struct native_frame *f, struct mem *mem,
                       const struct py_frame_ptrs *frames, py_frame_ptr_found found, void *ctx)
{
    for (reg_set left = f->regs.known & REGS_PRESERVED; left; left &= left - 1) {
        unsigned reg = (unsigned)__builtin_ctzll(left);
        report(frames, f->regs.r[reg], reg, found, ctx);
    }
    uint64_t words[FRAME_MAX_BYTES / WORD_BYTES];
    uint64_t size = size_of(f) / WORD_BYTES * WORD_BYTES;
    if (size == 0 || size > FRAME_MAX_BYTES || mem_read(mem, f->cfa - size, words, size) < 0)
        return;
    for (uint64_t i = 0; i < size / WORD_BYTES; i++)
        report(frames, words[i], FIRST_SLOT + size - i * WORD_BYTES, found, ctx);
}

void py_eval_shape_learn(struct py_eval_shape *s, const struct native_frame *f, uint64_t place)
{
    map_put(&s->places, place, 1);
    map_put(&s->sizes, size_of(f), 1);
}

bool py_eval_shape_fits(const struct py_eval_shape *s, const struct native_frame *f, uint64_t place)
{
    uint64_t ignored = 0;
    return map_get(&s->places, place, &ignored) && map_get(&s->sizes, size_of(f), &ignored);
}

void py_frame_ptrs_release(struct py_frame_ptrs *s)
{
    map_release(&s->blocks);
}

void py_eval_shape_release(struct py_eval_shape *s)
{
    map_release(&s->places);
    map_release(&s->sizes);
}
