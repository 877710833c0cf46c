#include "sampler/recorder.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

/* Blocks that are read ahead: many may lie between those that are wanted.  New ones have room. */
enum { MOST_AHEAD = RECORDER_MAX_BLOCKS / 4 * 3 };
static const uint64_t BLOCK_MASK = RECORDER_BLOCK_BYTES - 1;

/* The index slot of the block at ADDR, or a free one for it.  There is always one, because there
 * are twice as many slots as blocks. */
static size_t slot_of(const struct recorder *r, uint64_t addr)
{
    size_t slot = hash_u64(addr / RECORDER_BLOCK_BYTES) % RECORDER_INDEX_SLOTS;
    while (r->index[slot].epoch == r->epoch && r->index[slot].block != addr)
        slot = (slot + 1) % RECORDER_INDEX_SLOTS;
    return slot;
}

/* Enters LEN bytes, read from block-aligned ADDR to OFFSET, into the index; joins them to the last
 * range if they follow it. */
static void keep(struct recorder *r, uint64_t addr, uint32_t len, uint32_t offset)
{
    for (uint32_t done = 0; done < len; done += RECORDER_BLOCK_BYTES) {
        size_t slot = slot_of(r, addr + done);
        r->index[slot].block = addr + done;
        r->index[slot].offset = offset + done;
        r->index[slot].epoch = r->epoch;
        r->index[slot].wanted = false;
    }
    r->n_blocks += len / RECORDER_BLOCK_BYTES;
    struct snapshot_range *last = r->n_ranges ? &r->ranges[r->n_ranges - 1] : NULL;
    if (last && last->addr + last->len == addr && last->offset + last->len == offset)
        last->len += len;
    else
        r->ranges[r->n_ranges++] = (struct snapshot_range){addr, len, offset};
}

static bool has_room(const struct recorder *r, size_t len)
{
    size_t table = (r->n_ranges + 2) * sizeof(struct snapshot_range);
    return r->n_ranges + 2 < RECORDER_MAX_BLOCKS && r->used + len + table <= r->capacity;
}

static int fetch_blocks(struct recorder *r, uint64_t addr, size_t len)
{
    if (!has_room(r, len) || r->n_blocks + len / RECORDER_BLOCK_BYTES > RECORDER_MAX_BLOCKS)
        return -ENOSPC;
    r->reads++;
    int error = mem_read(r->live, addr, r->base + r->used, len);
    if (error < 0)
        return error;
    keep(r, addr, (uint32_t)len, (uint32_t)r->used);
    r->n_fetched += (uint32_t)len / RECORDER_BLOCK_BYTES;
    r->used += len;
    return 0;
}

/* How many bytes from the block at ADDR on to read for a reader that wants LEN: up to the first
 * block that is there already. */
static size_t missing_bytes(const struct recorder *r, uint64_t addr, size_t len)
{
    size_t n = RECORDER_BLOCK_BYTES;
    while (n < len && r->index[slot_of(r, addr + n)].epoch != r->epoch &&
           (addr + n < r->stack_start || addr + n >= r->stack_end))
        n += RECORDER_BLOCK_BYTES;
    return n;
}

/* The bytes of the block at ADDR; NULL: they cannot be read.  If they are not there yet they are
 * read with those behind it that a reader of LEN bytes wants next. */
static const uint8_t *block_at(struct recorder *r, uint64_t addr, size_t len, int *ret_error)
{
    size_t slot = slot_of(r, addr);
    if (r->index[slot].epoch != r->epoch) {
        size_t n = missing_bytes(r, addr, len);
        *ret_error = fetch_blocks(r, addr, n);
        if (*ret_error < 0 && n > RECORDER_BLOCK_BYTES)
            *ret_error = fetch_blocks(r, addr, RECORDER_BLOCK_BYTES);
        if (*ret_error < 0)
            return NULL;
        slot = slot_of(r, addr);
    }
    if (!r->index[slot].wanted) {
        r->index[slot].wanted = true;
        r->wanted[r->n_wanted++] = addr;
    }
    return r->base + r->index[slot].offset;
}

/* The stack is kept apart from the blocks, so that no byte is recorded twice: a read that begins in
 * the stack takes its bytes from there. */
static int recorder_read(struct mem *mem, uint64_t addr, void *buf, size_t len)
{
    struct recorder *r = (struct recorder *)mem;
    uint8_t *to = buf;
    while (len) {
        const uint8_t *from;
        size_t n;
        if (addr >= r->stack_start && addr < r->stack_end) {
            from = r->base + r->stack_offset + (addr - r->stack_start);
            n = r->stack_end - addr;
        } else {
            int error = 0;
            const uint8_t *block =
                block_at(r, addr & ~BLOCK_MASK, len + (addr & BLOCK_MASK), &error);
            if (!block)
                return error;
            from = block + (addr & BLOCK_MASK);
            n = RECORDER_BLOCK_BYTES - (addr & BLOCK_MASK);
        }
        n = n < len ? n : len;
        memcpy(to, from, n);
        to += n;
        addr += n;
        len -= n;
    }
    return 0;
}

static void recorder_free(struct mem *mem)
{
    (void)mem; /* the caller's storage */
}

void recorder_init(struct recorder *r)
{
    static const struct mem_ops ops = {.read = recorder_read, .free = recorder_free};
    memset(r, 0, sizeof *r);
    r->mem.ops = &ops;
}

void recorder_begin(struct recorder *r, struct mem *live, void *base, size_t used, size_t capacity)
{
    r->live = live;
    r->base = base;
    r->used = used;
    r->capacity = capacity;
    r->n_ranges = r->n_wanted = r->n_blocks = r->n_fetched = 0;
    r->stack_start = r->stack_end = 0;
    r->epoch++;
}

/* Where the copy of a stack begins.  Below SP a leaf function may keep registers (psABI §3.2.2, the
 * red zone), which signals do not overwrite.  A page that only the red zone reaches is left out,
 * because to read it may be to make it. */
static uint64_t stack_start(uint64_t sp)
{
    enum { RED_ZONE_BYTES = 128, PAGE_BYTES = 4096 };
    uint64_t in_page = sp & (PAGE_BYTES - 1);
    return (sp - (in_page < RED_ZONE_BYTES ? in_page : RED_ZONE_BYTES)) & ~BLOCK_MASK;
}

/* The stack is copied from the beginning of a block, so that blocks and stack never overlap. */
size_t recorder_read_stack(struct recorder *r, uint64_t sp, size_t max,
                           const struct prefetch *prefetch)
{
    struct mem_span spans[RECORDER_MAX_SPANS + 1];
    size_t n = 0;
    size_t blocks = 0;
    size_t offset = r->used;
    uint64_t start = stack_start(sp);
    uint64_t end = (sp + max + BLOCK_MASK) & ~BLOCK_MASK;
    if (end <= start || !has_room(r, end - start))
        return 0;
    for (uint32_t i = 0; i < prefetch->n; i++) {
        size_t table = n * sizeof(struct snapshot_range); /* they become ranges when read */
        blocks += prefetch->spans[i].len / RECORDER_BLOCK_BYTES;
        if (blocks > MOST_AHEAD ||
            !has_room(r, offset - r->used + prefetch->spans[i].len + end - start + table))
            break;
        uint64_t addr = prefetch->spans[i].addr;
        if (addr < end && addr + prefetch->spans[i].len > start)
            continue; /* it is in the stack now */
        spans[n++] = (struct mem_span){addr, r->base + offset, prefetch->spans[i].len};
        offset += prefetch->spans[i].len;
    }
    spans[n] = (struct mem_span){start, r->base + offset, end - start};
    r->reads++;
    size_t got = mem_read_spans(r->live, spans, n + 1);
    for (size_t i = 0; i < n && got >= spans[i].len; i++) {
        keep(r, spans[i].addr, (uint32_t)spans[i].len, (uint32_t)r->used);
        r->used += spans[i].len;
        got -= spans[i].len;
    }
    if (r->used != offset) { /* a span is gone: the read did not reach the stack */
        spans[n].buf = r->base + r->used;
        r->reads++;
        got = mem_read_spans(r->live, &spans[n], 1);
    }
    got &= ~(size_t)BLOCK_MASK;
    if (start + got <= sp)
        return 0;
    r->stack_start = start;
    r->stack_end = start + got;
    r->stack_offset = (uint32_t)r->used;
    r->ranges[r->n_ranges++] = (struct snapshot_range){start, (uint32_t)got, (uint32_t)r->used};
    r->used += got;
    return start + got - sp;
}

const uint8_t *recorder_stack_at(const struct recorder *r, uint64_t sp)
{
    return r->base + r->stack_offset + (sp - r->stack_start);
}

/* Reads N bytes of blocks from ADDR on, or as many as are mapped. */
static size_t fetch_some(struct recorder *r, uint64_t addr, size_t n)
{
    if (!has_room(r, n) || r->n_blocks + n / RECORDER_BLOCK_BYTES > RECORDER_MAX_BLOCKS)
        return 0;
    const struct mem_span span = {addr, r->base + r->used, n};
    r->reads++;
    size_t got = mem_read_spans(r->live, &span, 1) & ~(size_t)BLOCK_MASK;
    if (got)
        keep(r, addr, (uint32_t)got, (uint32_t)r->used);
    r->used += got;
    return got;
}

static bool is_recorded(const struct recorder *r, uint64_t block)
{
    return r->index[slot_of(r, block)].epoch == r->epoch ||
           (block >= r->stack_start && block < r->stack_end);
}

size_t recorder_read_more(struct recorder *r, uint64_t addr, size_t max)
{
    uint64_t at = addr & ~BLOCK_MASK;
    uint64_t end = (addr + max + BLOCK_MASK) & ~BLOCK_MASK;
    while (at < end) {
        if (is_recorded(r, at)) {
            at += RECORDER_BLOCK_BYTES;
            continue;
        }
        size_t want = missing_bytes(r, at, end - at);
        size_t got = fetch_some(r, at, want);
        at += got;
        if (got < want)
            break;
    }
    return at > addr ? at - addr : 0;
}

bool recorder_append(struct recorder *r, const void *bytes, size_t len, uint32_t *ret_offset)
{
    if (!has_room(r, len))
        return false;
    memcpy(r->base + r->used, bytes, len);
    *ret_offset = (uint32_t)r->used;
    r->used += len;
    return true;
}

size_t recorder_finish(struct recorder *r, uint32_t *ret_ranges_offset, uint32_t *ret_count)
{
    size_t offset = (r->used + 7) & ~(size_t)7;
    size_t bytes = r->n_ranges * sizeof *r->ranges;
    if (offset + bytes > r->capacity)
        return 0;
    memcpy(r->base + offset, r->ranges, bytes);
    *ret_ranges_offset = (uint32_t)offset;
    *ret_count = r->n_ranges;
    return offset + bytes;
}

/* Shell's sort: in place and async-signal-safe. */
static void sort_addresses(uint64_t *a, uint32_t n)
{
    static const uint32_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1}; /* M. Ciura, 2001 */
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (uint32_t i = gaps[g]; i < n; i++) {
            uint64_t x = a[i];
            uint32_t j = i;
            for (; j >= gaps[g] && a[j - gaps[g]] > x; j -= gaps[g])
                a[j] = a[j - gaps[g]];
            a[j] = x;
        }
}

/* Adds the block at ADDR, which lies behind all that are there.  False: there is no room. */
static bool add_block(struct prefetch *prefetch, uint64_t addr)
{
    if (prefetch->n) {
        uint64_t start = prefetch->spans[prefetch->n - 1].addr;
        uint64_t end = start + prefetch->spans[prefetch->n - 1].len;
        if (addr - end <= RECORDER_GAP_BYTES) {
            prefetch->spans[prefetch->n - 1].len = (uint32_t)(addr - start) + RECORDER_BLOCK_BYTES;
            return true;
        }
    }
    if (prefetch->n == RECORDER_MAX_SPANS)
        return false;
    prefetch->spans[prefetch->n].addr = addr;
    prefetch->spans[prefetch->n++].len = RECORDER_BLOCK_BYTES;
    return true;
}

/* The list stays as it is if it had all that was asked for, and no more. */
void recorder_remember(struct recorder *r, struct prefetch *prefetch)
{
    if (!r->n_fetched && r->n_wanted >= prefetch->wanted)
        return;
    sort_addresses(r->wanted, r->n_wanted);
    prefetch->n = prefetch->wanted = 0;
    while (prefetch->wanted < r->n_wanted && add_block(prefetch, r->wanted[prefetch->wanted]))
        prefetch->wanted++;
}
