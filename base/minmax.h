/* The lesser and the greater of two, and their order. */
#pragma once

#include <stdint.h>

static inline int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* For qsort(3): -1, 0 or 1 as A is below, equal to or above B. */
static inline int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}
