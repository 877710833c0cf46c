/* Threads that wait by asking again and again: their CPU time is no work. */
#include <string.h>

#include "summary/asks.h"
#include "summary/known.h"
#include "summary/meanwhile.h"
#include "summary/rule_classes.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"
#include "summary/spinning.h"

static const double spin_cpus = 0.25, spin_share_of_cpu = 0.8; /* where there are too few CPUs */

/* " 3 rower threads do so, too.": other groups of GROUP's process that spin.  Returns how many
 * threads all of them have. */
static size_t add_like(const struct judgement *s, const struct thread_group *group,
                       struct text *words)
{
    process_id process = group->threads[0]->thread->process;
    size_t n = group->n_threads;
    for (size_t i = 0; i < s->g->n; i++) {
        const struct thread_group *other = &s->g->items[i];
        if (other == group || other->threads[0]->thread->process.ix != process.ix ||
            share_of(other->class_ns[CLASS_SPIN], other->wall_ns) < worth_telling)
            continue;
        text_addf(words, " %s %s so, too.", other->noun, other->plural ? "do" : "does");
        n += other->n_threads;
    }
    return n;
}

/* " 8 threads spin on 2 CPUs": each that spins keeps one from a CPU that works. */
static void add_crowd(const struct judgement *s, const struct thread_group *group,
                      struct text *words)
{
    process_id process = group->threads[0]->thread->process;
    const struct profile_cpu_limits *l = &profile_see_process(s->p, process)->cpu_limits;
    uint32_t cpus = l->cpus_any ? l->cpus_any : profile_see_host(s->p)->cpus_online;
    size_t n = add_like(s, group, words);
    if (cpus && n > cpus)
        text_addf(words, " %zu threads spin on %u CPU%s: use fewer threads.", n, cpus,
                  cpus == 1 ? "" : "s");
}

static bool is_parallel_region(const struct shown_frame *f)
{
    return known_does(f, DOES_RUN_REGION);
}

static bool is_in_region(const struct judgement *s, const struct thread_group *group)
{
    static const double mostly = 0.5;
    static const unsigned states = 1U << COUNTED_CPU | 1U << COUNTED_RUNQUEUE;
    const struct thread_summary *t = group->threads[0];
    struct stack_times times = rule_times_of(s, t->thread, states, is_parallel_region);
    intervals_release(&times.when);
    return share_of(times.wall_ns, t->wall_ns) >= mostly;
}

/* Does a thread that spins in NODE, as KIND, wait for another thread of its process? */
static bool is_for_thread(const struct call_node *node, enum spin_kind kind)
{
    static const unsigned kinds = 1U << SPIN_OPENMP | 1U << SPIN_OPENMP_LOCK | 1U << SPIN_TBB |
                                  1U << SPIN_BLAS | 1U << SPIN_LOCK | 1U << SPIN_YIELD;
    return kinds >> kind & 1 || (node->spins && !node->asked);
}

/* " Meanwhile main is 83% in sweep._omp_fn.0 a.c:10.": the only one that works while GROUP's first
 * thread spins; a share of a loop that is larger than the others can be made smaller. */
static void add_who_works(const struct judgement *s, const struct thread_group *group,
                          struct text *words, struct finding *f)
{
    const struct profile_thread *first = group->threads[0]->thread;
    struct intervals spins = intervals_of(s, first, 1U << CLASS_SPIN);
    const struct thread_group *busy = meanwhile_of(s->g, group, BUSY_WORK, &spins).busy;
    if (busy && busy->threads[0]->thread->process.ix == first->process.ix) {
        (void)add_meanwhile(s, busy, &spins, words, f);
        f->blames = busy->noun;
        if (is_in_region(s, busy))
            text_add(words,
                     " If its part of the loop is larger, schedule(dynamic) evens that out.");
    }
    intervals_release(&spins);
}

/* For whom, in what place, and what helps. */
static void add_spin(const struct judgement *s, const struct thread_group *group, double cpus,
                     const struct call_path *path, struct text *words, struct finding *f)
{
    const struct call_node at = call_tree_node(s->g->tree, path->node);
    const char *remedy = spinning_remedy(at.frame->spins);
    if (at.spins)
        remedy = at.asked ? asks_remedy(at.asked)
                          : "Spin briefly, then sleep on a condition or a futex.";
    text_addf(words, "%s, ", at.spins ? "in a wait for others" : spinning_words(at.frame->spins));
    add_place(words, path);
    text_addf(words, ", which burns %.1f CPU%s.", cpus, cpus < 1.05 ? "" : "s");
    if (at.spins == OWN_SPIN_LOOPS)
        add_crowd(s, group, words);
    if (is_for_thread(&at, at.frame->spins))
        add_who_works(s, group, words, f);
    if (*remedy)
        text_addf(words, " %s", remedy);
}

/* For how long GROUP spins, or waits for a CPU to do so. */
static int64_t spin_and_wait_ns(const struct thread_group *group)
{
    return group->class_ns[CLASS_SPIN] + group->runqueue_ns;
}

void rule_spinning(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct call_path path;
    double share = share_of(group->class_ns[CLASS_SPIN], group->wall_ns);
    int64_t cpu_ns = spinning_cpu_ns(s, group);
    double of_cpu = share_of(cpu_ns, group->cpu_ns);
    double cpus = share_of(cpu_ns, s->wall_ns);
    double spun = share_of(spin_and_wait_ns(group), group->wall_ns);
    bool crowded = share < spun / 2 && cpus >= spin_cpus && of_cpu >= spin_share_of_cpu;
    add_figure(f, "share", share);
    f->share = share;
    if ((share < worth_telling && !crowded) || !heaviest_in_class(&group->tally, CLASS_SPIN, &path))
        return;
    struct text words = {0};
    add_figure(f, "share_of_cpu", of_cpu);
    add_figure(f, "cpus", cpus);
    text_addf(&words, "%s spin%s ", group->noun, verb_s(group));
    add_percent(&words, crowded ? of_cpu : share);
    text_addf(&words, " of %s %stime ", possessive(group), crowded ? "CPU " : "");
    add_spin(s, group, cpus, &path, &words, f);
    f->words = words.s;
    call_path_release(&path);
}
