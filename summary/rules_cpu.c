/* Rules about the CPU: why threads wait for one, what the kernel does for them, what they
 * compute. */
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "summary/frame_name.h"
#include "summary/process_name.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

static const double wait_share = 0.1, compute_share = 0.5, collect_share = 0.15;

/* ---- waiting for a CPU ---- */

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
static void add_thread_variable(const struct scene *s, const struct thread_group *group,
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
        return;
    }
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

/* The cause, behind "main waits 48% of its time for a CPU". */
static void add_cause(const struct scene *s, const struct thread_group *group, struct text *words,
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
        return;
    if (!cpus) {
        text_add(words, ".");
        return;
    }
    bool pinned = cpus < h->cpus_online;
    text_addf(words, ": %s may use %u%s CPU%s; this recording's threads wanted %.1f, ",
              group->plural ? "they" : "it", cpus, pinned ? " of the" : "",
              cpus == 1 && !pinned ? "" : "s", wanted);
    add_others(s, h, words);
    text_add(words, ".");
    if (l->nice > 0)
        text_addf(words, " %s nice value is %d.", group->plural ? "Their" : "Its", l->nice);
    if (wanted > 1.2 * cpus && others < 0.5 * cpus)
        add_thread_variable(s, group, cpus, words);
}

/* The counts of a thread are known up to its last sample.  Of one that lives for a tick or two that
 * is its birth, when it waits for its first CPU. */
static bool is_short_lived(const struct scene *s, const struct thread_group *group)
{
    enum { LEAST_TICKS = 5 };
    double rate_hz = profile_number(s->p, METRIC_RATE_HZ);
    double ticks = rate_hz * (double)group->wall_ns / NS_PER_S;
    return rate_hz > 0 && ticks < LEAST_TICKS * (double)group->n_threads;
}

void rule_cpu_wait(const struct scene *s, struct thread_group *group, struct finding *f)
{
    double share = share_of(group->runqueue_ns, group->wall_ns);
    add_figure(f, "share", share);
    f->weight = share * (group->leads ? 1 : 0.9);
    if (share < wait_share || is_short_lived(s, group))
        return;
    struct text words = {0};
    struct call_path path;
    double part;
    text_addf(&words, "%s wait%s ", group->noun, verb_s(group));
    add_percent(&words, share);
    text_addf(&words, " of %s time for a CPU", possessive(group));
    if (rule_path_of(s, group, WEIGHT_WALL, TALLY_RUNNING | TALLY_RUNNABLE, &path, &part)) {
        text_add(&words, ", for longest ");
        add_place(&words, &path);
        call_path_release(&path);
    }
    add_cause(s, group, &words, f);
    f->words = words.s;
}

/* ---- computing ---- */

void rule_computes(const struct scene *s, struct thread_group *group, struct finding *f)
{
    int64_t spun_ns = class_ns(s, group, CLASS_SPIN); /* which is no work */
    double share = share_of(group->cpu_ns - spun_ns, group->wall_ns);
    add_figure(f, "share", share);
    f->weight = share * (group->leads ? 1 : 0.6);
    if (share < compute_share || !group->n_paths)
        return;
    struct text words = {0};
    size_t n = 0;
    text_addf(&words, "%s compute%s: %s ran ", group->noun, verb_s(group),
              group->plural ? "they" : "it");
    add_percent(&words, share);
    text_add(&words, " of ");
    add_time(&words, s->wall_ns);
    for (size_t i = 0; i < group->n_paths && i < 2; i++) {
        double here = share_of(group->paths[i].ns, group->wall_ns);
        bool spins = class_of_node(s->g->tree, group->paths[i].node) == CLASS_SPIN;
        if ((i && here < 0.1) || spins)
            continue;
        if (!i)
            add_figure(f, "heaviest_path_share", here);
        text_add(&words, n++ ? " and " : ", ");
        add_percent(&words, here);
        text_add(&words, " in ");
        add_way(&words, &group->paths[i]);
    }
    text_add(&words, ".");
    add_kept_loop(s, group, group->paths[0].node, &words);
    f->words = words.s;
}

/* Is NODE in what ends the interpreter, once the program's code has ended? */
static bool is_at_python_end(const struct scene *s, uint32_t node)
{
    for (; node; node = call_tree_node(s->g->tree, node).parent)
        if (frame_name_has(call_tree_node(s->g->tree, node).frame->name, "Py_FinalizeEx"))
            return true;
    return false;
}

/* Python's collector is a frame of its own (pyframes/py_gc.h). */
void rule_collects(const struct scene *s, struct thread_group *group, struct finding *f)
{
    int64_t ns = 0;
    uint32_t best = 0;
    for (uint32_t node = 1; node <= call_tree_count(s->g->tree); node++) {
        const struct call_node at = call_tree_node(s->g->tree, node);
        if (at.frame->kind != SHOWN_MARK || !str_eq(at.frame->name, "[gc]"))
            continue;
        int64_t here_ns = tally_total(&group->tally, node);
        ns += here_ns;
        best = !best || here_ns > tally_total(&group->tally, best) ? node : best;
    }
    double share = share_of(ns, group->wall_ns);
    add_figure(f, "share", share);
    f->weight = share * 1.5;
    if (share < collect_share)
        return;
    struct text words = {0};
    struct call_path path = call_path_to(&group->tally, best);
    bool at_end = is_at_python_end(s, best);
    text_addf(&words, "%s spend%s ", group->noun, verb_s(group));
    add_percent(&words, share);
    text_addf(&words, " of %s time collecting garbage", possessive(group));
    if (path.caller && !at_end)
        text_addf(&words, ", for longest called from %s", path.caller);
    text_add(&words, at_end ? " while the interpreter ends. os._exit() skips that; what is open "
                              "must be flushed before."
                            : ". gc.freeze() makes a collection shorter. A higher "
                              "gc.set_threshold() makes it rarer, unless the code calls "
                              "gc.collect().");
    f->words = words.s;
    call_path_release(&path);
}
