/* Threads that wait by asking again and again: their CPU time is no work. */
#include "summary/rule_classes.h"
#include "summary/rule_words.h"
#include "summary/spinning.h"

static const double spin_share = 0.2;                          /* of the time */
static const double spin_cpus = 0.25, spin_share_of_cpu = 0.8; /* where there are too few CPUs */

/* The CPU time, by the kernel's count, of the samples that found GROUP spinning. */
static int64_t spinning_cpu_ns(const struct scene *s, const struct thread_group *group)
{
    int64_t ns = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++)
            if (class_of_run(s->g->tree, &t->runs[k]) == CLASS_SPIN)
                ns += run_weight(&t->runs[k], WEIGHT_CPU);
    }
    return ns;
}

void rule_spinning(const struct scene *s, struct thread_group *group, struct finding *f)
{
    struct call_path path;
    double share = share_of(class_ns(s, group, CLASS_SPIN), group->wall_ns);
    double of_cpu = share_of(spinning_cpu_ns(s, group), group->cpu_ns);
    double cpus = share_of(spinning_cpu_ns(s, group), s->wall_ns);
    bool crowded = share < spin_share && cpus >= spin_cpus && of_cpu >= spin_share_of_cpu;
    add_figure(f, "share", share);
    f->weight = share * (group == s->lead ? 1 : 0.7);
    if ((share < spin_share && !crowded) || !heaviest_in_class(&group->tally, CLASS_SPIN, &path))
        return;
    enum spin_kind kind = call_tree_node(s->g->tree, path.node).frame->spins;
    struct text words = {0};
    add_figure(f, "share_of_cpu", of_cpu);
    add_figure(f, "cpus", cpus);
    text_addf(&words, "%s spin%s ", group->noun, verb_s(group));
    add_percent(&words, crowded ? of_cpu : share);
    text_addf(&words, " of %s %stime %s, ", possessive(group), crowded ? "CPU " : "",
              spinning_words(kind));
    add_place(&words, &path);
    text_addf(&words, ": %.1f CPU%s without work.", cpus, cpus < 1.05 ? "" : "s");
    if (*spinning_remedy(kind))
        text_addf(&words, " %s", spinning_remedy(kind));
    f->words = words.s;
    call_path_release(&path);
}
