/* Two OpenMP runtimes in one process: each has as many threads as there are CPUs, and knows
 * nothing of the other's. */
#include <string.h>

#include "base/clock.h"
#include "summary/openmp.h"
#include "summary/rule_words.h"

static const double used_cpus = 0.05; /* that make a runtime one that is used */

static double cpus_of(const struct judgement *s, const struct openmp_pool *pool)
{
    return share_of(pool->cpu_ns, s->wall_ns);
}

static bool is_used(const struct judgement *s, const struct openmp_pool *pool)
{
    return cpus_of(s, pool) >= used_cpus;
}

/* "7 threads of libgomp.so.1" */
static void add_pool(const struct openmp_pool *pool, bool first, struct text *words)
{
    text_addf(words, "%zu %sof ", pool->threads,
              !first               ? ""
              : pool->threads == 1 ? "thread "
                                   : "threads ");
    text_add_tame(words, pool->library, strlen(pool->library));
}

struct runtime_facts {
    struct openmp_pool a, b;
    double spins; /* of the CPU time of both */
};

static void found(const struct judgement *s, const struct openmp_pool *a,
                  const struct openmp_pool *b, struct finding *f)
{
    int64_t cpu_ns = a->cpu_ns + b->cpu_ns;
    int64_t spin_ns = a->spin_ns + b->spin_ns;
    int64_t waiting_ns = a->wait_cpu_ns + b->wait_cpu_ns;
    struct runtime_facts facts = {*a, *b, share_of(spin_ns, cpu_ns)};
    f->share = share_of(spin_ns + waiting_ns, cpu_ns + waiting_ns);
    f->n_figures = 0;
    add_figure(f, "share", f->share);
    add_figure(f, "first_cpus", cpus_of(s, a));
    add_figure(f, "second_cpus", cpus_of(s, b));
    add_figure(f, "spin_share", facts.spins);
    finding_applies(f, &facts, sizeof facts);
}

void rule_openmp_runtimes(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct openmp_pools pools;
    (void)group;
    add_figure(f, "share", 0);
    if (s->wall_ns < INT64_C(2) * NS_PER_S)
        return;
    openmp_pools_init(&pools, &s->g->summaries, s->g->v);
    for (size_t i = 0; i < pools.n && !f->applies; i++)
        for (size_t k = i + 1; k < pools.n && !f->applies; k++)
            if (pools.items[i].process.ix == pools.items[k].process.ix &&
                is_used(s, &pools.items[i]) && is_used(s, &pools.items[k]))
                found(s, &pools.items[i], &pools.items[k], f);
    openmp_pools_release(&pools);
}

void tell_openmp_runtimes(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct runtime_facts *facts = f->facts;
    add_pool(&facts->a, true, words);
    text_add(words, " and ");
    add_pool(&facts->b, false, words);
    text_addf(words, ", two OpenMP runtimes, used %.1f and %.1f CPUs, ", cpus_of(s, &facts->a),
              cpus_of(s, &facts->b));
    add_percent(words, facts->spins);
    text_add(words, " of that spinning. Load one of them only; OMP_WAIT_POLICY=passive lets idle "
                    "threads sleep.");
}
