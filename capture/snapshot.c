#include "capture/snapshot.h"

#include <errno.h>
#include <string.h>

#include "base/search.h"
#include "base/sort.h"

static int by_address(const void *a, const void *b)
{
    const struct snapshot_range *x = a;
    const struct snapshot_range *y = b;
    return (x->addr > y->addr) - (x->addr < y->addr);
}

static const struct snapshot_range *range_of(struct snapshot_mem *m, uint64_t addr)
{
    if (m->last < m->n && addr - m->ranges[m->last].addr < m->ranges[m->last].len)
        return &m->ranges[m->last];
    size_t n = COUNT_UP_TO(m->ranges, m->n, addr, addr);
    if (n == 0 || addr - m->ranges[n - 1].addr >= m->ranges[n - 1].len)
        return NULL;
    m->last = n - 1;
    return &m->ranges[m->last];
}

/* A read may cross from one range into the next that touches it. */
static int snapshot_mem_read(struct mem *mem, uint64_t addr, void *buf, size_t len)
{
    struct snapshot_mem *m = (struct snapshot_mem *)mem;
    uint8_t *to = buf;
    while (len) {
        const struct snapshot_range *range = range_of(m, addr);
        if (!range)
            return -EFAULT;
        size_t skip = addr - range->addr;
        size_t n = range->len - skip < len ? range->len - skip : len;
        memcpy(to, m->bytes + range->offset + skip, n);
        to += n;
        addr += n;
        len -= n;
    }
    return 0;
}

const uint8_t *snapshot_mem_at(struct snapshot_mem *m, uint64_t addr, size_t *ret_len)
{
    const struct snapshot_range *range = range_of(m, addr);
    if (!range)
        return NULL;
    *ret_len = range->len - (addr - range->addr);
    return m->bytes + range->offset + (addr - range->addr);
}

static void snapshot_mem_free(struct mem *mem)
{
    (void)mem; /* the caller's storage */
}

void snapshot_mem_init(struct snapshot_mem *m, const void *bytes, struct snapshot_range *ranges,
                       size_t n)
{
    static const struct mem_ops ops = {.read = snapshot_mem_read, .free = snapshot_mem_free};
    sort_if_needed(ranges, n, sizeof *ranges, by_address);
    *m = (struct snapshot_mem){.mem = {&ops}, .bytes = bytes, .ranges = ranges, .n = n};
}
