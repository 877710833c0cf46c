#include "sampler/counters.h"

#include "base/clock.h"

uint64_t counters_get(const struct sampler_counters *c, enum sampler_counter which)
{
    return atomic_load_explicit(&c->n[which], memory_order_relaxed);
}

/* One writer: no read-modify-write cycle is needed. */
static void set(_Atomic uint64_t *n, uint64_t value)
{
    atomic_store_explicit(n, value, memory_order_relaxed);
}

void counters_add(struct sampler_counters *c, enum sampler_counter which, uint64_t delta)
{
    set(&c->n[which], counters_get(c, which) + delta);
}

void counters_raise(struct sampler_counters *c, enum sampler_counter which, uint64_t least)
{
    if (least > counters_get(c, which))
        set(&c->n[which], least);
}

/* Upper border of each bucket: 2^(i/4) µs. */
static uint64_t border_ns(int bucket)
{
    static const uint64_t quarter_ns[4] = {1000, 1189, 1414, 1682};
    return quarter_ns[bucket % 4] << (bucket / 4);
}

void counters_add_hold(struct sampler_counters *c, uint64_t held_ns)
{
    counters_add(c, COUNT_HELD_NS, held_ns);
    counters_raise(c, COUNT_HELD_MAX_NS, held_ns);
    int bucket = 0;
    while (bucket < HOLD_BUCKETS - 1 && held_ns >= border_ns(bucket))
        bucket++;
    set(&c->holds[bucket], atomic_load_explicit(&c->holds[bucket], memory_order_relaxed) + 1);
}

uint64_t counters_holds_in(const struct sampler_counters *c, int octave)
{
    uint64_t n = 0;
    int last = octave == HOLD_OCTAVES - 1 ? HOLD_BUCKETS - 1 : 4 * octave;
    for (int i = octave ? 4 * octave - 3 : 0; i <= last; i++)
        n += atomic_load_explicit(&c->holds[i], memory_order_relaxed);
    return n;
}

uint64_t counters_hold_quantile_ns(const struct sampler_counters *c, double q)
{
    uint64_t total = 0;
    for (int i = 0; i < HOLD_BUCKETS; i++)
        total += atomic_load_explicit(&c->holds[i], memory_order_relaxed);
    uint64_t seen = 0;
    for (int i = 0; i < HOLD_BUCKETS && total; i++) {
        seen += atomic_load_explicit(&c->holds[i], memory_order_relaxed);
        if ((double)seen >= q * (double)total)
            return border_ns(i);
    }
    return 0;
}
