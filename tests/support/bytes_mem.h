/* A target's memory that is nothing but some bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "target/mem.h"

struct bytes_mem {
    struct mem mem;
    uint64_t base; /* address of the first */
    const uint8_t *bytes;
    size_t len;
    size_t reads, fail_at; /* the read that fails, counted from 0; SIZE_MAX: none */
};

/* BYTES are borrowed, and read as they are at each time. */
struct bytes_mem bytes_mem_of(uint64_t base, const uint8_t *bytes, size_t len);
/* CTX is a struct bytes_mem: so the decoders of machine code read. */
int bytes_mem_read(void *ctx, uint64_t addr, void *buf, size_t len);
