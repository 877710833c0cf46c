/* How long the worker may leave messages in the ring, so that it handles those of several ticks at
 * one wake: a wake costs as much as a stack. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct patience { /* zero-initialise: none */
    int64_t allowed_ns, calm_since_ns;
    uint64_t unrest;
};
/* BYTES of messages were handled at NOW_NS.  UNREST grows with each change that must not wait.
 * MORE: the ring was not emptied. */
void patience_choose(struct patience *p, uint64_t unrest, bool more, size_t bytes, int64_t now_ns);
static inline int64_t patience_ns(const struct patience *p)
{
    return p->allowed_ns;
}
