#include "worker/patience.h"

#include "base/clock.h"

enum {
    PATIENCE_NS = 32 * NS_PER_MS, /* three ticks */
    CALM_AFTER_NS = 250 * NS_PER_MS,
    CALM_BYTES = 4 << 20, /* of messages at a time, a sixteenth of the ring */
};

void patience_choose(struct patience *p, uint64_t unrest, bool more, size_t bytes, int64_t now_ns)
{
    if (unrest != p->unrest || more || bytes >= CALM_BYTES)
        p->calm_since_ns = now_ns;
    p->unrest = unrest;
    p->allowed_ns = now_ns - p->calm_since_ns >= CALM_AFTER_NS ? PATIENCE_NS : 0;
}
