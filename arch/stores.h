/* What code writes to memory at a known offset from a register.  Pure: bytes in, facts out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is there, from FROM to TO in BYTES, a store of the 32-bit VALUE at [register + OFFSET]; or, if
 * ANY, one of a register? */
bool code_stores(const uint8_t *bytes, size_t from, size_t to, uint32_t offset, uint32_t value,
                 bool any);
/* Is there, in the first N of BYTES, an atomic compare-and-exchange at [register + OFFSET]? */
bool code_exchanges(const uint8_t *bytes, size_t n, uint32_t offset);
