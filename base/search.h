/* Binary search in an array whose items are in order of one number. */
#pragma once

#include <stddef.h>

#include "base/bytes.h"

/* How many of the N items of ITEM_BYTES have at most VALUE in the 64 bits at their offset FIELD.
 * The item behind them is the first above VALUE.  In an array that is out of order the search ends
 * too, with a wrong count of 0 to N. */
static inline size_t count_up_to(const void *items, size_t n, size_t item_bytes, size_t field,
                                 uint64_t value)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (get_u64((const char *)items + middle * item_bytes + field) <= value)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

/* The same for an array of structures, by the uint64_t called FIELD. */
#define COUNT_UP_TO(items, n, field, value)                                                        \
    count_up_to(items, n, sizeof *(items), offsetof(__typeof__(*(items)), field), value)
