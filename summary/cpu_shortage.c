#include "summary/cpu_shortage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "summary/process_name.h"
#include "summary/rule_words.h"

/* The CPUs that the processes of this recording want together: running or waiting for one. */
static double wanted_cpus(const struct scene *s)
{
    int64_t ns = 0;
    for (size_t i = 0; i < s->g->n; i++)
        ns += s->g->items[i].cpu_ns + s->g->items[i].runqueue_ns;
    return share_of(ns, s->wall_ns);
}

static const struct profile_process *process_of(const struct scene *s,
                                                const struct thread_group *group)
{
    return profile_see_process(s->p, group->threads[0]->thread->process);
}

/* Throttled time is a sum over CPUs: a group's threads wait together. */
static bool add_quota(const struct profile_cpu_limits *l, int64_t wall_ns,
                      const struct thread_group *group, struct text *words, struct finding *f)
{
    int64_t waited_ns = group->runqueue_ns / (int64_t)group->n_threads;
    add_figure(f, "throttled_s", (double)l->throttled_ns / NS_PER_S);
    if (l->quota_cpus > 0)
        add_figure(f, "quota_cpus", l->quota_cpus);
    if (l->quota_cpus > 0 && l->throttled_periods > 0 && l->throttled_ns >= waited_ns / 2) {
        text_addf(words,
                  ": %s cgroup may use %.3g CPU%s and was throttled in %.0f%% of its "
                  "periods. Raise the CPU limit, or use fewer threads.",
                  possessive(group), l->quota_cpus, l->quota_cpus == 1 ? "" : "s",
                  l->periods ? 100 * (double)l->throttled_periods / (double)l->periods : 100);
        return true;
    }
    if (l->throttled_above_ns > wall_ns / 20 && l->throttled_above_ns >= waited_ns / 2) {
        text_add(words, ": it was throttled by a CPU limit above what is visible here. Raise the "
                        "limit of its container or pod.");
        return true;
    }
    return false;
}

static bool add_steal(const struct profile_host *h, struct text *words, struct finding *f)
{
    double cpus = share_of(h->stolen_ns, h->over_ns);
    add_figure(f, "stolen_cpus", cpus);
    if (cpus < 0.1 * h->cpus_online)
        return false;
    text_addf(words, ": the hypervisor took %.1f of this machine's %u CPUs.", cpus, h->cpus_online);
    return true;
}

/* Variables that set how many threads a library starts; only one that asks for more than CPUS. */
static bool add_thread_variable(const struct scene *s, const struct thread_group *group,
                                double cpus, struct text *words)
{
    static const char *const names[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                        "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "GOMAXPROCS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t len = 0;
        const char *value =
            process_number(s->p, group->threads[0]->thread->process, names[i], &len);
        double fit = cpus < 1 ? 1 : floor(cpus);
        if (!value || !len || len > 4 || strtod(value, NULL) <= fit)
            continue;
        text_addf(words, " %s is %.*s; try %.0f.", names[i], (int)len, value, fit);
        return true;
    }
    return false;
}

static void add_others(const struct scene *s, const struct profile_host *h, struct text *words)
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

bool add_cpu_shortage(const struct scene *s, const struct thread_group *group, struct text *words,
                      struct finding *f)
{
    const struct profile_cpu_limits *l = &process_of(s, group)->cpu_limits;
    const struct profile_host *h = profile_see_host(s->p);
    double wanted = wanted_cpus(s);
    double others = share_of(h->others_ns, h->over_ns);
    uint32_t cpus = l->cpus_any ? l->cpus_any : h->cpus_online;
    add_figure(f, "wanted_cpus", wanted);
    add_figure(f, "others_cpus", others);
    add_figure(f, "cpus", cpus);
    if ((l->known && add_quota(l, s->wall_ns, group, words, f)) || add_steal(h, words, f))
        return true;
    if (!cpus) {
        text_add(words, ".");
        return false;
    }
    bool pinned = cpus < h->cpus_online;
    text_addf(words, ": %s may use ", group->plural ? "they" : "it");
    if (cpus == 1)
        text_add(words, "one CPU");
    else
        text_addf(words, "%u CPUs", cpus);
    text_addf(words, "%s; this recording's threads wanted %.1f, ", pinned ? " (affinity)" : "",
              wanted);
    add_others(s, h, words);
    text_add(words, ".");
    if (l->nice > 0)
        text_addf(words, " %s nice value is %d.", group->plural ? "Their" : "Its", l->nice);
    bool too_many =
        wanted > 1.2 * cpus && others < 0.5 * cpus && add_thread_variable(s, group, cpus, words);
    return pinned || l->nice > 0 || too_many;
}
