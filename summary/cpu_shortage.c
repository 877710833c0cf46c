#include "summary/cpu_shortage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "summary/process_name.h"
#include "summary/rule_words.h"

/* The CPUs that the processes of this recording want together: running or waiting for one. */
static double wanted_cpus(const struct judgement *s)
{
    int64_t ns = 0;
    for (size_t i = 0; i < s->g->n; i++)
        ns += s->g->items[i].cpu_ns + s->g->items[i].runqueue_ns;
    return share_of(ns, s->wall_ns);
}

static const struct profile_process *process_of(const struct judgement *s,
                                                const struct thread_group *group)
{
    return profile_see_process(s->p, group->threads[0]->thread->process);
}

static bool is_stolen_from(const struct cpu_shortage *c, const struct profile_host *h)
{
    return c->stolen_cpus > 0 && c->stolen_cpus >= 0.1 * h->cpus_online;
}

/* What all programs want beyond the CPUs there are: no hypervisor's fault. */
static double missing_cpus(const struct cpu_shortage *c)
{
    double others = c->pinned ? 0 : c->others_cpus; /* on which CPUs these are is not known */
    double missing = c->wanted_cpus + others - c->cpus;
    return missing > 0 ? missing : 0;
}

/* For how long the quota can have kept one thread in WALL_NS: throttled time is a sum over CPUs. */
static int64_t kept_by_quota_ns(const struct profile_cpu_limits *l, int64_t wall_ns)
{
    double part = l->periods ? (double)l->throttled_periods / (double)l->periods : 1;
    return min_i64(l->throttled_ns, (int64_t)(part * (double)wall_ns));
}

static int64_t life_of_one_ns(const struct thread_group *group)
{
    return group->wall_ns / (int64_t)group->n_threads;
}

/* A group's threads wait together, for WALL_NS. */
static enum shortage_cause cause_of(const struct cpu_shortage *c, const struct profile_host *h,
                                    int64_t wall_ns, const struct thread_group *group)
{
    const struct profile_cpu_limits *l = c->limits;
    int64_t waited_ns = group->runqueue_ns / (int64_t)group->n_threads;
    if (l->known && l->quota_cpus > 0 && l->throttled_periods > 0 &&
        kept_by_quota_ns(l, wall_ns) >= waited_ns / 2)
        return SHORTAGE_QUOTA;
    if (l->known && l->throttled_above_ns > wall_ns / 20 && l->throttled_above_ns >= waited_ns / 2)
        return SHORTAGE_QUOTA_ABOVE;
    if (is_stolen_from(c, h) && c->stolen_cpus >= missing_cpus(c) / 2)
        return SHORTAGE_STEAL;
    return c->cpus ? SHORTAGE_OF_CPUS : SHORTAGE_UNKNOWN;
}

/* So many threads fit on C's CPUs. */
static double fit_of(const struct cpu_shortage *c)
{
    return c->cpus < 1 ? 1 : floor(c->cpus);
}

/* A variable that sets how many threads a library starts: only one that asks for more than there
 * are CPUs. */
static void find_variable(const struct judgement *s, const struct thread_group *group,
                          struct cpu_shortage *c)
{
    static const char *const names[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                        "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "GOMAXPROCS"};
    if (c->wanted_cpus <= 1.2 * c->cpus || c->others_cpus >= 0.5 * c->cpus)
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names && !c->variable; i++) {
        size_t len = 0;
        const char *value =
            process_number(s->p, group->threads[0]->thread->process, names[i], &len);
        if (!value || !len || len > 4 || strtod(value, NULL) <= fit_of(c))
            continue;
        c->variable = names[i];
        c->value = value;
        c->value_len = len;
    }
}

struct cpu_shortage cpu_shortage_of(const struct judgement *s, const struct thread_group *group)
{
    const struct profile_host *h = profile_see_host(s->p);
    struct cpu_shortage c = {
        .limits = &process_of(s, group)->cpu_limits,
        .wanted_cpus = wanted_cpus(s),
        .others_cpus = share_of(h->others_ns, h->over_ns),
        .stolen_cpus = share_of(h->stolen_ns, h->over_ns),
    };
    c.cpus = c.limits->cpus_any ? c.limits->cpus_any : h->cpus_online;
    c.pinned = c.cpus < h->cpus_online;
    c.cause = cause_of(&c, h, min_i64(s->wall_ns, life_of_one_ns(group)), group);
    if (c.cause == SHORTAGE_OF_CPUS)
        find_variable(s, group, &c);
    c.limited = c.cause > SHORTAGE_OF_CPUS ||
                (c.cause == SHORTAGE_OF_CPUS && (c.pinned || c.limits->nice > 0 || c.variable));
    return c;
}

/* ---- words ---- */

void add_shortage_figures(const struct cpu_shortage *c, struct finding *f)
{
    add_figure(f, "wanted_cpus", c->wanted_cpus);
    add_figure(f, "others_cpus", c->others_cpus);
    add_figure(f, "cpus", c->cpus);
    if (c->limits->known)
        add_figure(f, "throttled_s", (double)c->limits->throttled_ns / NS_PER_S);
    if (c->limits->known && c->limits->quota_cpus > 0)
        add_figure(f, "quota_cpus", c->limits->quota_cpus);
    if (c->cause != SHORTAGE_QUOTA && c->cause != SHORTAGE_QUOTA_ABOVE)
        add_figure(f, "stolen_cpus", c->stolen_cpus);
}

/* Do several threads want a CPU for a tenth of the time or more? */
static bool several_compute(const struct judgement *s)
{
    enum { PART = 10 };
    size_t n = 0;
    for (size_t i = 0; i < s->g->n; i++) {
        const struct thread_group *group = &s->g->items[i];
        if (group->cpu_ns + group->runqueue_ns >= group->wall_ns / PART)
            n += group->n_threads;
    }
    return n > 1;
}

static void add_quota(const struct judgement *s, const struct profile_cpu_limits *l,
                      const struct thread_group *group, struct text *words)
{
    text_addf(words,
              ": %s cgroup may use %.3g CPU%s and was throttled in %.0f%% of its periods. Raise "
              "the CPU limit%s.",
              possessive(group), l->quota_cpus, l->quota_cpus == 1 ? "" : "s",
              l->periods ? 100 * (double)l->throttled_periods / (double)l->periods : 100,
              several_compute(s) ? ", or use fewer threads" : "");
}

static void add_others(const struct judgement *s, const struct profile_host *h, struct text *words)
{
    double others = share_of(h->others_ns, h->over_ns);
    text_addf(words, "other programs used %.1f CPU%s", others, others < 1.05 ? "" : "s");
    if (h->busiest.pid && share_of(h->busiest.cpu_ns, h->over_ns) >= 0.1 && others >= 0.3) {
        const char *comm = profile_text(s->p, h->busiest.comm);
        text_addf(words, ", the busiest %d (", h->busiest.pid);
        text_add_tame(words, comm, strlen(comm));
        text_addf(words, ", %.1f)", share_of(h->busiest.cpu_ns, h->over_ns));
    }
}

/* " may use 2 CPUs (affinity); this recording's threads wanted 3.1, other programs used …" */
static void add_use(const struct judgement *s, const struct cpu_shortage *c, struct text *words)
{
    text_add(words, " may use ");
    if (c->cpus == 1)
        text_add(words, "one CPU");
    else
        text_addf(words, "%u CPUs", c->cpus);
    text_addf(words, "%s; this recording's threads wanted %.1f, ", c->pinned ? " (affinity)" : "",
              c->wanted_cpus);
    add_others(s, profile_see_host(s->p), words);
    if (is_stolen_from(c, profile_see_host(s->p)))
        text_addf(words, ", the hypervisor took %.1f", c->stolen_cpus);
    text_add(words, ".");
}

static void add_cpus(const struct judgement *s, const struct thread_group *group,
                     const struct cpu_shortage *c, struct text *words)
{
    text_addf(words, ": %s", group->plural ? "they" : "it");
    add_use(s, c, words);
    if (c->limits->nice > 0)
        text_addf(words, " %s nice value is %d.", group->plural ? "Their" : "Its", c->limits->nice);
    if (c->variable)
        text_addf(words, " %s is %.*s; try %.0f.", c->variable, (int)c->value_len, c->value,
                  fit_of(c));
}

void add_shortage(const struct judgement *s, const struct thread_group *group,
                  const struct cpu_shortage *c, struct text *words)
{
    switch (c->cause) {
    case SHORTAGE_UNKNOWN:
        text_add(words, ".");
        break;
    case SHORTAGE_OF_CPUS:
        add_cpus(s, group, c, words);
        break;
    case SHORTAGE_QUOTA:
        add_quota(s, c->limits, group, words);
        break;
    case SHORTAGE_QUOTA_ABOVE:
        text_add(words, ": it was throttled by a CPU limit above what is visible here. Raise the "
                        "limit of its container or pod.");
        break;
    case SHORTAGE_STEAL:
        text_addf(words, ": the hypervisor took %.1f of this machine's %u CPUs.", c->stolen_cpus,
                  profile_see_host(s->p)->cpus_online);
        break;
    }
}

void add_wanted_cpus(const struct judgement *s, const struct thread_group *group,
                     const struct cpu_shortage *c, struct text *words)
{
    if (c->cause != SHORTAGE_OF_CPUS)
        return;
    text_add(words, group->plural ? " They" : " It");
    add_use(s, c, words);
}
