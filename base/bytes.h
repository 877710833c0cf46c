/* Numbers in foreign memory, at any address.  x86-64 and all that is read here is little-endian. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint32_t get_u32(const void *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline uint64_t get_u64(const void *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline int32_t get_i32(const void *bytes)
{
    return (int32_t)get_u32(bytes);
}
