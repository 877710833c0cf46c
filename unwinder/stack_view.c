#include "unwinder/stack_view.h"

#include <errno.h>
#include <string.h>

/* An address further up than this is not on the same stack: no sane limit (ulimit -s) is larger. */
enum { MAX_STACK_BYTES = 1 << 30 };

void stack_view_init(struct stack_view *v, const struct snapshot *s)
{
    *v = (struct stack_view){
        .bytes = s->stack,
        .start = s->stack_start,
        .len = s->stack_bytes,
        .cut = s->stack_cut,
        .mem = s->mem,
    };
}

int stack_view_u64(struct stack_view *v, uint64_t addr, uint64_t *ret)
{
    uint64_t offset = addr - v->start; /* wraps to something huge below the start */
    bool copied = offset < v->len && v->len - offset >= sizeof *ret;
    if (copied && v->bytes)
        memcpy(ret, v->bytes + offset, sizeof *ret);
    else if (!v->mem || mem_read_u64(v->mem, addr, ret) < 0) {
        if (!v->cut || copied || offset > MAX_STACK_BYTES)
            return -EFAULT;
        if (offset + sizeof *ret > v->wanted)
            v->wanted = offset + sizeof *ret;
        return -ERANGE;
    }
    if (copied && offset + sizeof *ret > v->used)
        v->used = offset + sizeof *ret;
    return 0;
}
