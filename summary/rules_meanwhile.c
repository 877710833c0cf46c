/* The rule about waits during which only one other thread or group is busy. */
#include "summary/delays.h"
#include "summary/group_facts.h"
#include "summary/kernel_side.h"
#include "summary/meanwhile.h"
#include "summary/rule_classes.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"
#include "summary/slow_code.h"

static const double most_share = 0.95; /* that is as good as all */
/* Of a thread's time: that two things coincide for less says little of either. */
static const double long_wait = 0.3;
static const double works_share = 0.02;

/* " for an rwlock,": what the wait at NODE is for where its place does not say so. */
static void add_lock(const struct judgement *s, uint32_t node, struct text *words)
{
    enum futex_kind kind = call_tree_node(s->g->tree, node).futex;
    if (kind == FUTEX_LOCK || kind == FUTEX_RWLOCK)
        text_add(words, kind == FUTEX_LOCK ? " for a lock," : " for an rwlock,");
}

/* "main waits 79% of its time in Worker::sync, called from f a.py:3." or "…, 48% of it in …" */
static void add_wait(const struct judgement *s, struct thread_group *group, double share,
                     unsigned classes, const struct call_path *path, struct text *words)
{
    int64_t here_ns = rule_waits_in_function(s, group, classes, path);
    add_opening_part(group, "wait", share, share_of(here_ns, group->wall_ns), words);
    add_lock(s, path->node, words);
    text_add(words, " ");
    if ((double)path->ns < most_share * (double)here_ns)
        add_place_longest(words, path);
    else
        add_place(words, path);
    text_add(words, ".");
}

/* The classes of GROUP's waits that are for others.  A thread that was woken and then waits for the
 * GIL still waits for the threads that run meanwhile.  Where most of the waiting is for the GIL,
 * rule_gil() says so. */
static unsigned waits_for_others(const struct judgement *s, struct thread_group *group,
                                 int64_t *ret_ns)
{
    int64_t ordinary_ns = group->class_ns[CLASS_ORDINARY];
    int64_t gil_ns = group->class_ns[CLASS_GIL];
    bool both = gil_ns < ordinary_ns;
    *ret_ns = ordinary_ns + (both ? gil_ns : 0) + rule_ways_to_waits_ns(s, group);
    return 1U << CLASS_ORDINARY | (both ? 1U << CLASS_GIL : 0);
}

/* Is GROUP, which waits at NODE, kept from its work?  The leader is, if it waits for one of its own
 * process.  A helper with nothing to do waits, too, but for a condition, or it hardly ever ran, as
 * a child that is asked through a pipe.  A main thread is not, if it only looks after those who
 * lead. */
static bool is_kept(const struct judgement *s, const struct thread_group *group, uint32_t node)
{
    static const unsigned locks = 1U << FUTEX_UNKNOWN | 1U << FUTEX_LOCK | 1U << FUTEX_RWLOCK;
    const struct call_node at = call_tree_node(s->g->tree, node);
    bool works = share_of(group->cpu_ns, group->wall_ns) >= works_share;
    if (group->threads[0]->thread->main)
        return group == s->lead || (group->n == 1 && !group->leads && works);
    bool futex = at.frame->call && str_starts(at.frame->call, "futex");
    bool lock = locks >> at.futex & 1;
    return s->lead && !s->lead->leads && futex && (lock || group == s->lead);
}

/* Does RUN wait for whoever comes, as a server for its clients, or for another machine? */
static bool is_for_outside(const struct judgement *s, const struct run *run)
{
    static const unsigned anybody = 1U << BLOCKER_LISTENER | 1U << BLOCKER_CLIENT;
    if (run->state != RUN_BLOCKED)
        return false;
    if (holders_is_remote(s->holders, run->at))
        return true;
    if (!holders_is_for(s->holders, run->at, anybody))
        return false;
    const struct blocker *b = &holders_side(s->holders, run->at)->blocker;
    return !b->pid && b->net != NET_UDP; /* it sends to a client, or asked for a datagram */
}

/* Does GROUP for most of its waits of NS?  What others do meanwhile keeps it from nothing. */
static bool waits_for_outside(const struct judgement *s, const struct thread_group *group,
                              int64_t ns)
{
    int64_t outside_ns = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++)
            outside_ns += is_for_outside(s, &t->runs[k]) ? t->runs[k].weights.wall_ns : 0;
    }
    return outside_ns > ns / 2;
}

/* ": 75% of main's time ends there.", of a GROUP that waits for SHARE of its time, for the PART of
 * that which was told; nothing where that is all of it. */
static void add_of_all(const struct thread_group *group, double share, double part,
                       struct text *words, struct finding *f)
{
    if (part <= 0 || part >= most_share)
        return;
    text_truncate(words, words->len - 1); /* the full stop */
    text_add(words, ": ");
    add_percent(words, share * part);
    add_figure(f, "ends_share", share * part);
    text_addf(words, group->plural ? " of the time of %s ends there." : " of %s's time ends there.",
              group->noun);
}

/* Does GROUP wait for locks more than for anything else, and was their holder read? */
static bool mostly_waits_for_one(const struct judgement *s, const struct thread_group *group)
{
    const struct group_facts *facts = facts_about(s, group);
    return facts->locks_held == HELD_BY_ONE &&
           facts->locks.ns >= group->class_ns[CLASS_ORDINARY] / 2;
}

struct meanwhile_facts {
    struct call_path path;
    unsigned classes;       /* of the waits, 1 << enum wait_class */
    struct intervals waits; /* of the first thread */
    struct thread_group *busy;
};

void rule_waits_meanwhile(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct meanwhile_facts facts = {.busy = NULL};
    int64_t ns = 0;
    facts.classes = waits_for_others(s, group, &ns);
    f->share = share_of(ns, group->wall_ns);
    add_figure(f, "share", f->share);
    if (f->share < long_wait || mostly_waits_for_one(s, group) ||
        facts_about(s, group)->holder_told ||
        !heaviest_in_class(&group->tally, CLASS_ORDINARY, &facts.path))
        return;
    struct meanwhile m = {0};
    if (is_kept(s, group, facts.path.node) && !waits_for_outside(s, group, ns))
        m = rule_meanwhile_of(s, group, facts.classes);
    add_figure(f, "candidates", (double)m.candidates);
    if (!m.busy) {
        call_path_release(&facts.path);
        return;
    }
    facts.busy = m.busy;
    facts.waits = intervals_of(s, group->threads[0]->thread, facts.classes);
    f->told_share = f->share * m.part;
    f->blames = m.busy->noun;
    f->unless = "uneven"; /* that tells more of the one that is busy */
    add_figure(f, "busy_part", m.part);
    finding_applies(f, &facts, sizeof facts);
}

void tell_waits_meanwhile(const struct judgement *s, struct finding *f, struct text *words)
{
    struct thread_group *group = f->group;
    const struct meanwhile_facts *facts = f->facts;
    const uint32_t node = facts->path.node;
    add_wait(s, group, f->share, facts->classes, &facts->path, words);
    add_meaning(s, node, words);
    add_kept_loop(s, group, node, words);
    (void)add_kernel_side(s, group, node, false, words, f);
    add_delay(s, group, node, words, f);
    double part = add_meanwhile(s, facts->busy, &facts->waits, words, f);
    add_of_all(group, f->share, part, words, f);
    (void)add_slow_code_of(s, facts->busy, words, f);
}

void release_waits_meanwhile(void *facts)
{
    struct meanwhile_facts *f = facts;
    call_path_release(&f->path);
    intervals_release(&f->waits);
}
