#include "sampler/counters.h"

#include "base/clock.h"

static const char *const names[SAMPLER_COUNTER_COUNT] = {
    [COUNT_TICKS] = "ticks",
    [COUNT_LATE_TICKS] = "late_ticks",
    [COUNT_TICK_DELAY_NS] = "tick_delay_ns",
    [COUNT_REPEATS] = "repeats",
    [COUNT_SLEEPERS_PROVEN] = "sleepers_proven",
    [COUNT_NO_STOP_CAPTURES] = "no_stop_captures",
    [COUNT_NO_STOP_REJECTS] = "no_stop_rejects",
    [COUNT_NO_STOP_GIVEN_UP] = "no_stop_given_up",
    [COUNT_STOP_REQUESTS] = "stop_requests",
    [COUNT_STOPS] = "stops",
    [COUNT_PENDING_TICKS] = "pending_ticks",
    [COUNT_REPAIRED_CALLS] = "repaired_calls",
    [COUNT_PERTURBED_CALLS] = "perturbed_calls",
    [COUNT_CUT_CALLS] = "cut_calls",
    [COUNT_RENEWED_CALLS] = "renewed_calls",
    [COUNT_UNDONE_CALLS] = "undone_calls",
    [COUNT_SUPERVISED_CALLS] = "supervised_calls",
    [COUNT_SUPERVISED] = "supervised",
    [COUNT_BACKED_OFF] = "backed_off",
    [COUNT_EXECVE_WAITS] = "execve_waits",
    [COUNT_MEMORY_LOCKED] = "memory_locked",
    [COUNT_RING_FULL] = "ring_full",
    [COUNT_REFUSED] = "refused",
    [COUNT_STUCK] = "stuck",
    [COUNT_SLOW_SYSCALL_READS] = "slow_syscall_reads",
    [COUNT_SYSCALL_READS_SKIPPED] = "syscall_reads_skipped",
    [COUNT_REGISTERS_WANTED] = "registers_wanted",
    [COUNT_RATE_LOWERED] = "rate_lowered",
    [COUNT_RATE_LOWERED_FOR_QUOTA] = "rate_lowered_for_quota",
    [COUNT_FDS_EVICTED] = "fds_evicted",
    [COUNT_READS] = "memory_reads",
    [COUNT_HELD_NS] = "held_ns",
    [COUNT_HELD_MAX_NS] = "held_max_ns",
    [COUNT_REPAIR_MAX_NS] = "repair_max_ns",
    [COUNT_NOT_MET] = "threads_not_met",
    [COUNT_STACKS_UNKNOWN] = "stack_ends_unknown",
    [COUNT_UNREADABLE] = "unreadable",
};

const char *sampler_counter_name(enum sampler_counter c)
{
    return names[c];
}

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
