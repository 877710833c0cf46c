/* --max-overhead: the largest share of the last five seconds for which a thread was held.  The rate is lowered
 * while it is too much, and raised again when there is room. */
#include "base/clock.h"
#include "sampler/state.h"

enum {
    SLOT_NS = 250 * NS_PER_MS,   /* HELD_SLOTS of them are five seconds */
    LEAST_ELAPSED_NS = NS_PER_S, /* in the first moments one late hold is a large share */
};
static const double room = 0.8;     /* of what is allowed: below it the rate is raised */
static const double raise = 0.975;  /* of the interval, each time: a tenth a second */
static const double most_step = 16; /* that the rate is divided by at a time */

static int64_t elapsed_ns(const struct sampler *s)
{
    int64_t sum_ns = 0;
    for (int i = 0; i < HELD_SLOTS; i++)
        sum_ns += s->held_slots[i].elapsed_ns;
    return sum_ns > LEAST_ELAPSED_NS ? sum_ns : LEAST_ELAPSED_NS;
}

/* For how long T was held in the last five seconds, and would have been at the present rate. */
static void add_up(const struct sampler *s, const struct task *t, double *ret_ns,
                   double *ret_at_this_rate_ns)
{
    *ret_ns = *ret_at_this_rate_ns = 0;
    for (int i = 0; i < HELD_SLOTS; i++) {
        double ns = t->held_slots_ns[i];
        *ret_ns += ns;
        *ret_at_this_rate_ns += ns * (double)s->held_slots[i].interval_ns / (double)s->interval_ns;
    }
}

static void close_slot(struct sampler *s, int64_t now_ns)
{
    s->held_slots[s->held_slot].elapsed_ns = now_ns - s->overhead_checked_ns;
    s->held_slots[s->held_slot].interval_ns = s->interval_ns;
    s->overhead_checked_ns = now_ns;
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_tasks; j++) {
            struct task *t = s->processes[i]->tasks[j];
            t->held_slots_ns[s->held_slot] =
                t->slot_held_ns < UINT32_MAX ? (uint32_t)t->slot_held_ns : UINT32_MAX;
            t->slot_held_ns = 0;
        }
    s->held_slot = (s->held_slot + 1) % HELD_SLOTS;
}

/* Returns the largest share to expect; what was is noted. */
static double worst_share(struct sampler *s)
{
    double worst_ns = 0;
    double worst_expected_ns = 0;
    double ns;
    double expected_ns;
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_tasks; j++) {
            add_up(s, s->processes[i]->tasks[j], &ns, &expected_ns);
            worst_ns = ns > worst_ns ? ns : worst_ns;
            worst_expected_ns = expected_ns > worst_expected_ns ? expected_ns : worst_expected_ns;
        }
    double share = worst_ns / (double)elapsed_ns(s);
    if (share > atomic_load_explicit(&s->worst_share, memory_order_relaxed))
        atomic_store_explicit(&s->worst_share, share, memory_order_relaxed);
    return worst_expected_ns / (double)elapsed_ns(s);
}

static void scale_interval(struct sampler *s, double factor)
{
    double asked_ns = (double)NS_PER_S / s->config.rate_hz;
    double wanted_ns = (double)s->interval_ns * factor;
    s->interval_ns = (int64_t)(wanted_ns > asked_ns ? wanted_ns : asked_ns);
    atomic_store_explicit(&s->rate_hz, (double)NS_PER_S / (double)s->interval_ns,
                          memory_order_relaxed);
}

void overhead_keep(struct sampler *s)
{
    int64_t now_ns = clock_now_ns();
    if (now_ns - s->overhead_checked_ns < SLOT_NS)
        return;
    close_slot(s, now_ns);
    double ratio = worst_share(s) / s->config.max_held;
    if (ratio > 1) {
        counters_add(&s->counters, COUNT_RATE_LOWERED, 1);
        scale_interval(s, ratio < most_step ? ratio : most_step);
    } else if (ratio < room) {
        scale_interval(s, raise);
    }
}
