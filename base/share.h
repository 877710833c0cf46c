/* Shares of a whole; 0 of none. */
#pragma once

#include <stdint.h>

static inline double share_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* Rounded. */
static inline int percent_of(int64_t part, int64_t whole)
{
    return (int)(100 * share_of(part, whole) + 0.5);
}
