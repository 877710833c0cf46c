/* Threads that wait by asking again and again: their CPU time is no work. */
#include <math.h>
#include <string.h>

#include "summary/asks.h"
#include "summary/known.h"
#include "summary/meanwhile.h"
#include "summary/rule_classes.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"
#include "summary/spinning.h"

/* Where there are too few CPUs. */
static const double spin_cpus = 0.25, spin_share_of_cpu = 0.8, spin_share_of_wanted = 0.5;

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

struct spin_facts {
    struct call_path path;
    double cpus; /* that do no work */
    double told; /* part of the time; CROWDED: of the CPU time */
    bool crowded;
    /* The only one that works while the group's first thread spins, for a thread; NULL: there is
     * none. */
    const struct thread_group *busy;
    struct intervals spins; /* of that thread */
};

static void find_who_works(const struct judgement *s, const struct thread_group *group,
                           struct spin_facts *facts)
{
    const struct call_node at = call_tree_node(s->g->tree, facts->path.node);
    const struct profile_thread *first = group->threads[0]->thread;
    if (!is_for_thread(&at, at.frame->spins))
        return;
    facts->spins = intervals_of(s, first, 1U << CLASS_SPIN);
    const struct thread_group *busy = meanwhile_of(s->g, group, BUSY_WORK, &facts->spins).busy;
    bool same_process = busy && busy->threads[0]->thread->process.ix == first->process.ix;
    bool spins_too = busy && rule_spins_ns(s, busy) > (busy->cpu_ns + busy->runqueue_ns) / 2;
    facts->busy = same_process && !spins_too ? busy : NULL;
}

/* " Meanwhile main is 83% in sweep._omp_fn.0 a.c:10.": at a barrier a share of a loop that is
 * larger than the others can be made smaller. */
static void add_who_works(const struct judgement *s, const struct spin_facts *facts,
                          struct text *words, struct finding *f)
{
    const struct call_node at = call_tree_node(s->g->tree, facts->path.node);
    (void)add_meanwhile(s, facts->busy, &facts->spins, words, f);
    if (at.frame->spins == SPIN_OPENMP && is_in_region(s, facts->busy))
        text_add(words, " If its part of the loop is larger, schedule(dynamic) evens that out.");
}

/* For whom, in what place, and what helps. */
static void add_spin(const struct judgement *s, const struct spin_facts *facts, struct text *words,
                     struct finding *f)
{
    const double cpus = facts->cpus;
    const struct call_node at = call_tree_node(s->g->tree, facts->path.node);
    const char *remedy = spinning_remedy(at.frame->spins);
    if (at.spins)
        remedy = at.asked ? asks_remedy(at.asked)
                          : "Spin briefly, then sleep on a condition or a futex.";
    text_add(words, at.spins ? "in a wait for others" : spinning_words(at.frame->spins));
    add_heaviest_place(words, &facts->path, facts->crowded ? 0 : f->group->class_ns[CLASS_SPIN]);
    text_addf(words, ", which burns %.1f CPU%s.", cpus, cpus < 1.05 ? "" : "s");
    if (at.spins == OWN_SPIN_LOOPS)
        add_crowd(s, f->group, words);
    if (facts->busy)
        add_who_works(s, facts, words, f);
    const char *meaning = at.spins ? "" : spinning_meaning(at.frame->spins);
    text_addf(words, "%s%s%s%s", *meaning ? " " : "", meaning, *remedy ? " " : "", remedy);
}

/* For how long GROUP spins, or waits for a CPU to do so. */
static int64_t spin_and_wait_ns(const struct thread_group *group)
{
    return group->class_ns[CLASS_SPIN] + group->runqueue_ns;
}

void rule_spinning(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct spin_facts facts = {.busy = NULL};
    double share = share_of(group->class_ns[CLASS_SPIN], group->wall_ns);
    int64_t cpu_ns = spinning_cpu_ns(s, group);
    double of_cpu = share_of(cpu_ns, group->cpu_ns);
    double cpus = share_of(cpu_ns, s->wall_ns);
    double spun = share_of(spin_and_wait_ns(group), group->wall_ns);
    double spins = share_of(rule_spins_ns(s, group), group->cpu_ns + group->runqueue_ns);
    bool crowded = share < spun / 2 && cpus >= spin_cpus &&
                   (of_cpu >= spin_share_of_cpu || spins >= spin_share_of_wanted);
    add_figure(f, "share", share);
    f->share = crowded ? fmax(share, spins * spun) : share;
    if ((share < worth_telling && !crowded) ||
        !heaviest_in_class(&group->tally, CLASS_SPIN, &facts.path))
        return;
    add_figure(f, "share_of_cpu", of_cpu);
    add_figure(f, "cpus", cpus);
    facts.cpus = cpus;
    facts.told = crowded ? of_cpu : share;
    facts.crowded = crowded;
    find_who_works(s, group, &facts);
    f->blames = facts.busy ? facts.busy->noun : NULL;
    finding_applies(f, &facts, sizeof facts);
}

void tell_spinning(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct spin_facts *facts = f->facts;
    text_addf(words, "%s spin%s ", f->group->noun, verb_s(f->group));
    add_percent(words, facts->told);
    text_addf(words, " of %s %stime ", possessive(f->group), facts->crowded ? "CPU " : "");
    add_spin(s, facts, words, f);
}

void release_spinning(void *facts)
{
    struct spin_facts *f = facts;
    call_path_release(&f->path);
    intervals_release(&f->spins);
}
