#include "tests/support/bytes_mem.h"

#include <errno.h>
#include <string.h>

int bytes_mem_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
    struct bytes_mem *b = ctx;
    uint64_t at = addr - b->base;
    if (b->reads++ == b->fail_at || at > b->len || len > b->len - at)
        return -EFAULT;
    memcpy(buf, b->bytes + at, len);
    return 0;
}

static int read_mem(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    return bytes_mem_read(m, addr, buf, len);
}

struct bytes_mem bytes_mem_of(uint64_t base, const uint8_t *bytes, size_t len)
{
    static const struct mem_ops ops = {.read = read_mem};
    return (struct bytes_mem){
        .mem = {&ops}, .base = base, .bytes = bytes, .len = len, .fail_at = SIZE_MAX};
}
