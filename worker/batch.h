/* How long the worker may leave messages in the ring, so that it handles those of several ticks at
 * one wake: a wake costs as much as a stack. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch { /* zero-initialise: none */
    int64_t allowed_ns, quiet_since_ns;
    uint64_t urgency;
};
/* BYTES of messages were handled at NOW_NS.  URGENCY grows with each change that must not wait.
 * MORE: the ring was not emptied. */
void batch_choose(struct batch *b, uint64_t urgency, bool more, size_t bytes, int64_t now_ns);
static inline int64_t batch_ns(const struct batch *b)
{
    return b->allowed_ns;
}
