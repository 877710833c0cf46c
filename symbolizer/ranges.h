/* Which of many nested address ranges is the innermost at an address.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not an enumerator: C11 has only ints, and since gcc 13 a larger one changes all others' type. */
#define RANGES_NONE UINT32_MAX

enum {
    /* Per object; a hostile file may name the same range list again and again. */
    MAX_RANGES = 4000000,
};

struct range {
    uint64_t start, end; /* [start, end) */
    uint32_t item;       /* the caller's */
};

/* Zero-initialise; add; finish once; then find. */
struct ranges {
    struct range *items;
    size_t n, capacity;
};
/* Empty ranges are left out.  False: MAX_RANGES are held already. */
bool ranges_add(struct ranges *r, uint64_t start, uint64_t end, uint32_t item);
void ranges_finish(struct ranges *r);
/* The item of the range that contains ADDR and starts last; of those the one that ends first; of
 * equal ranges the one with the largest item.  RANGES_NONE if none contains it. */
uint32_t ranges_find(const struct ranges *r, uint64_t addr);
void ranges_release(struct ranges *r);
