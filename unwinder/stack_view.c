#include "unwinder/stack_view.h"

#include <errno.h>
#include <string.h>

/* An address further up than MAX is not on the same stack: no sane limit (ulimit -s) is larger.
 * Bytes recorded behind a stack that was cut may be a part of it, as far up as a default stack
 * reaches. */
enum { MAX_STACK_BYTES = 1 << 30, USUAL_STACK_BYTES = 8 << 20 };

void stack_view_init(struct stack_view *v, const struct snapshot *s)
{
    *v = (struct stack_view){
        .bytes = s->stack,
        .start = s->stack_start,
        .len = s->stack_bytes,
        .cut = s->stack_cut,
        .other_start = s->other_start,
        .other_len = s->other_bytes,
        .other_cut = s->other_cut,
        .mem = s->mem,
    };
}

static void raise_to(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

/* The word at OFFSET above the start of a stack, of which LEN bytes were copied, is missing.
 * Returns -ERANGE if that is because the stack was CUT. */
static int missing(struct stack_view *v, uint64_t offset, uint64_t len, bool cut)
{
    if (!cut || offset > MAX_STACK_BYTES || offset + sizeof(uint64_t) <= len)
        return -EFAULT;
    raise_to(&v->wanted, offset + sizeof(uint64_t));
    return -ERANGE;
}

int stack_view_u64(struct stack_view *v, uint64_t addr, uint64_t *ret)
{
    uint64_t offset = addr - v->start; /* wraps to something huge below the start */
    uint64_t other = addr - v->other_start;
    bool copied = offset < v->len && v->len - offset >= sizeof *ret;
    v->elsewhere |= !copied || !v->bytes;
    if (copied && v->bytes)
        memcpy(ret, v->bytes + offset, sizeof *ret);
    else if (!v->mem || mem_read_u64(v->mem, addr, ret) < 0)
        return other < offset ? missing(v, other, v->other_len, v->other_cut)
                              : missing(v, offset, v->len, v->cut);
    if (copied || (v->cut && offset < USUAL_STACK_BYTES))
        raise_to(&v->used, offset + sizeof *ret);
    else if (other < v->other_len)
        raise_to(&v->used, other + sizeof *ret);
    return 0;
}
