#include "summary/coverage.h"

#include <math.h>

#include "base/minmax.h"

enum {
    LEAST_SAMPLES = 100,
    ACTIVE_PART = 100,      /* one of so many of its time: less is not worth a word */
    KNOWN_BIAS_PERCENT = 3, /* of a sampler on a busy machine (tests/accuracy/known_shares.py) */
};

/* The states in which samples found a thread. */
struct seen_samples {
    int64_t ns[COUNTED_KINDS], sum_ns;
    uint64_t samples;
};

static struct seen_samples add_up(const struct profile_thread *t)
{
    struct seen_samples found = {0};
    for (size_t i = 0; i < t->n_runs; i++) {
        int kind = run_counted(&t->runs[i]);
        if (kind == COUNTED_KINDS)
            continue;
        found.ns[kind] += t->runs[i].weights.wall_ns;
        found.sum_ns += t->runs[i].weights.wall_ns;
        found.samples += t->runs[i].samples;
    }
    return found;
}

static bool is_active(const struct thread_summary *t)
{
    return t->cpu_ns + t->runqueue_ns > t->wall_ns / ACTIVE_PART;
}

static double capped_share(int64_t part_ns, int64_t whole_ns)
{
    double share = whole_ns > 0 ? (double)part_ns / (double)whole_ns : 1;
    return share < 1 ? share : 1;
}

double coverage_of_thread(const struct thread_summary *t)
{
    return capped_share(add_up(t->thread).sum_ns, t->wall_ns);
}

double coverage_of_all(const struct thread_summaries *s)
{
    int64_t seen_ns = 0;
    int64_t wall_ns = 0;
    for (size_t i = 0; i < s->n; i++)
        if (is_active(&s->threads[i])) {
            seen_ns +=
                (int64_t)(coverage_of_thread(&s->threads[i]) * (double)s->threads[i].wall_ns);
            wall_ns += s->threads[i].wall_ns;
        }
    return capped_share(seen_ns, wall_ns);
}

/* Adds the time of T's last SPAN_NS.  What stands for several threads has no last part. */
static void add_last(const struct profile_thread *t, int64_t span_ns, int64_t *seen_ns,
                     int64_t *all_ns)
{
    bool whole = span_ns == INT64_MAX;
    int64_t end_ns = t->n_runs ? run_end_ns(&t->runs[t->n_runs - 1]) : 0;
    for (size_t i = t->n_folded && !whole ? 0 : t->n_runs; i-- > 0;) {
        const struct run *run = &t->runs[i];
        int64_t ns = whole ? run->weights.wall_ns
                           : min_i64(run->weights.wall_ns, run_end_ns(run) - (end_ns - span_ns));
        if (ns < 0)
            return;
        *all_ns += ns;
        *seen_ns += run->state == RUN_MISSED ? 0 : ns;
    }
}

double coverage_so_far(const struct profile *p, int64_t span_ns)
{
    int64_t seen_ns = 0;
    int64_t all_ns = 0;
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *t = profile_see_thread(p, (thread_id){i});
        int64_t busy_ns = t->counts.ns[COUNTED_CPU] + t->counts.ns[COUNTED_RUNQUEUE];
        int64_t off_ns = t->counts.ns[COUNTED_OFF_CPU];
        if (busy_ns > (busy_ns + off_ns) / ACTIVE_PART)
            add_last(t, span_ns, &seen_ns, &all_ns);
    }
    return capped_share(seen_ns, all_ns);
}

/* Three standard deviations of a share P that N samples found, and the bias that a sampler may have
 * besides. */
static double allowed(double p, uint64_t n, double stolen)
{
    double variance = p * (1 - p) > 1 / (double)n ? p * (1 - p) : 1 / (double)n;
    return 3 * sqrt(variance / (double)n) + KNOWN_BIAS_PERCENT / 100.0 + stolen;
}

static void check_thread(const struct thread_summary *t, int64_t stolen_ns,
                         struct disagreement *worst, double *worst_excess)
{
    const struct counts *counts = &t->thread->counts;
    struct seen_samples found = add_up(t->thread);
    int64_t counted_ns = 0;
    for (int kind = 0; kind < COUNTED_KINDS; kind++)
        counted_ns += counts->ns[kind];
    if (found.samples < LEAST_SAMPLES || !is_active(t) || counted_ns <= 0)
        return;
    for (int kind = 0; kind < COUNTED_KINDS; kind++) {
        double sampled = capped_share(found.ns[kind], found.sum_ns);
        double counted = capped_share(counts->ns[kind] > 0 ? counts->ns[kind] : 0, counted_ns);
        double excess = fabs(sampled - counted) -
                        allowed(counted, found.samples, capped_share(stolen_ns, counted_ns)) -
                        (1 - capped_share(found.sum_ns, t->wall_ns));
        if (excess <= *worst_excess)
            continue;
        *worst_excess = excess;
        *worst = (struct disagreement){t, (enum counted)kind, sampled, counted};
    }
}

struct disagreement coverage_check(const struct thread_summaries *s, int64_t stolen_ns)
{
    struct disagreement worst = {0};
    double worst_excess = 0;
    for (size_t i = 0; i < s->n; i++)
        check_thread(&s->threads[i], stolen_ns, &worst, &worst_excess);
    return worst;
}
