#include "sampler/ring.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/alloc.h"

enum { ALIGN = 16, PAGE = 4096 };

/* Positions only grow; position & (bytes − 1) is the place.  Each message has a header of ALIGN
 * bytes. */
struct ring {
    uint8_t *memory;
    size_t bytes;
    size_t touched;           /* memory below it is faulted in */
    uint64_t reserved;        /* producer: position of the open reservation */
    _Atomic uint64_t written; /* set by the producer */
    _Atomic uint64_t read;    /* set by the consumer */
};

struct header {
    uint64_t bytes; /* of the whole message with its header; the top bit says: skip it */
};
static const uint64_t SKIP = UINT64_C(1) << 63;

static size_t round_up(size_t n)
{
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

struct ring *ring_new(size_t bytes)
{
    struct ring *r = xcalloc(1, sizeof *r);
    r->bytes = PAGE;
    while (r->bytes < bytes)
        r->bytes *= 2;
    r->memory = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->memory == MAP_FAILED)
        alloc_failed();
    return r;
}

void ring_keep_from_children(struct ring *r, bool keep)
{
    (void)madvise(r->memory, r->bytes, keep ? MADV_DONTFORK : MADV_DOFORK);
}

static struct header *header_at(struct ring *r, uint64_t position)
{
    return (struct header *)(void *)(r->memory + (position & (r->bytes - 1)));
}

/* A write during a hold never waits for a page. */
static void touch(struct ring *r, size_t end)
{
    for (; r->touched < end; r->touched += PAGE)
        *(volatile uint8_t *)(r->memory + r->touched) = 0;
}

/* Moves on to the start of the memory, with a header that has the consumer skip the rest.  The
 * header is published at once: a message too large for the rest must not wait for a consumer that
 * sees nothing to skip. */
static uint64_t wrap(struct ring *r, uint64_t position)
{
    size_t rest = r->bytes - (position & (r->bytes - 1));
    touch(r, (position & (r->bytes - 1)) + ALIGN);
    header_at(r, position)->bytes = rest | SKIP;
    atomic_store_explicit(&r->written, position + rest, memory_order_release);
    return position + rest;
}

void *ring_reserve(struct ring *r, size_t max_bytes)
{
    size_t need = round_up(max_bytes) + ALIGN;
    uint64_t position = atomic_load_explicit(&r->written, memory_order_relaxed);
    uint64_t read = atomic_load_explicit(&r->read, memory_order_acquire);
    size_t offset = position & (r->bytes - 1);
    size_t rest = r->bytes - offset;
    /* An empty ring starts anew at its first page, so that few pages are ever touched.  Not before
     * an eighth is used: until the consumer has released more, only what lies before is free. */
    bool restart = offset >= r->bytes / 8 && position == read && need <= offset;
    if (restart || (need > rest && position + rest - read <= r->bytes))
        position = wrap(r, position);
    offset = position & (r->bytes - 1);
    if (offset + need > r->bytes || position + need - read > r->bytes)
        return NULL;
    touch(r, offset + need);
    r->reserved = position;
    return (uint8_t *)header_at(r, position) + ALIGN;
}

void ring_commit(struct ring *r, size_t bytes)
{
    header_at(r, r->reserved)->bytes = round_up(bytes) + ALIGN;
    atomic_store_explicit(&r->written, r->reserved + round_up(bytes) + ALIGN, memory_order_release);
}

bool ring_is_empty(const struct ring *r)
{
    return atomic_load_explicit(&r->read, memory_order_acquire) ==
           atomic_load_explicit(&r->written, memory_order_relaxed);
}

const void *ring_peek(struct ring *r, size_t *ret_bytes)
{
    for (;;) {
        uint64_t read = atomic_load_explicit(&r->read, memory_order_relaxed);
        if (read == atomic_load_explicit(&r->written, memory_order_acquire))
            return NULL;
        const struct header *h = header_at(r, read);
        if (!(h->bytes & SKIP)) {
            *ret_bytes = h->bytes - ALIGN;
            return (const uint8_t *)h + ALIGN;
        }
        atomic_store_explicit(&r->read, read + (h->bytes & ~SKIP), memory_order_release);
    }
}

void ring_release(struct ring *r)
{
    uint64_t read = atomic_load_explicit(&r->read, memory_order_relaxed);
    atomic_store_explicit(&r->read, read + header_at(r, read)->bytes, memory_order_release);
}

struct ring *ring_free(struct ring *r)
{
    if (!r)
        return NULL;
    (void)munmap(r->memory, r->bytes);
    free(r);
    return NULL;
}
