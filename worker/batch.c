#include "worker/batch.h"

#include "base/clock.h"

enum {
    BATCH_NS = 32 * NS_PER_MS, /* three ticks */
    QUIET_AFTER_NS = 250 * NS_PER_MS,
    QUIET_BYTES = 4 << 20, /* of messages at a time, a sixteenth of the ring */
};

void batch_choose(struct batch *b, uint64_t urgency, bool more, size_t bytes, int64_t now_ns)
{
    if (urgency != b->urgency || more || bytes >= QUIET_BYTES)
        b->quiet_since_ns = now_ns;
    b->urgency = urgency;
    b->allowed_ns = now_ns - b->quiet_since_ns >= QUIET_AFTER_NS ? BATCH_NS : 0;
}
