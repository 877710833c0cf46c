/* This process's own memory as a target's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "target/mem.h"

struct own_mem {
    struct mem mem;
    const void *hole; /* a byte that cannot be read; NULL: none */
    size_t reads;
};

struct own_mem own_mem(void);
