/* The rule about threads that ask again and again, and sleep between. */
#include <stdlib.h>

#include "summary/meanwhile.h"
#include "summary/polling.h"
#include "summary/rule_classes.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"

static const double others_work = 0.1; /* of its time */
static const double late_share = 0.02; /* of the time, after a child's end */

/* Do others but GROUP work meanwhile?  Then it may just look after them. */
static bool others_are_active(const struct judgement *s, const struct thread_group *group)
{
    return share_of(rule_others_active_ns(s, group), s->wall_ns) >= others_work;
}

/* A helper that looks for something now and then delays nobody; several that try one lock do. */
static bool may_be_delayed(const struct thread_group *group, enum asked asked)
{
    bool main = group->threads[0]->thread->main || group->leads;
    return main || (asked == ASKED_LOCK && group->n > 1);
}

/* How many children of PROCESS's are known to have ended. */
static uint64_t ended_children(const struct judgement *s, process_id id)
{
    const struct profile_process *process = profile_see_process(s->p, id);
    uint64_t n = process->children_seen > process->n_children
                     ? process->children_seen - process->n_children
                     : 0;
    for (size_t i = 0; i < process->n_children; i++)
        n += process->children[i].came_and_went && !process->children[i].recorded;
    for (uint32_t i = 1; i <= profile_process_count(s->p); i++) {
        const struct profile_process *child = profile_see_process(s->p, (process_id){i});
        n += child->parent.ix == id.ix && child->threads == 0;
    }
    return n;
}

/* Is a child's end seen late for less than a small part of the time?  It is by half a sleep. */
static bool is_hardly_late(const struct judgement *s, const struct thread_group *group,
                           const struct polling *p)
{
    process_id process = group->threads[0]->thread->process;
    int64_t late_ns = (int64_t)ended_children(s, process) * p->each_ns / 2;
    return profile_see_process(s->p, process)->children_known &&
           share_of(late_ns, s->wall_ns) < late_share;
}

/* "main polls 97% of its time for a file in load a.py:9 > wait: it sleeps 10 times a second, 100 ms
 * each." */
static void add_polls(const struct judgement *s, const struct thread_group *group, double share,
                      const struct polling *p, const struct call_path *path, struct text *words)
{
    add_opening(group, "poll", share, words);
    polling_add_asked(s, group, p, words);
    text_add(words, " in ");
    add_way(words, path);
    text_addf(words, ": %s ", group->plural ? "each" : "it");
    polling_add_times(p, "sleeps", words);
}

/* " wallspy dump --locals -p 12 shows its arguments.": which file, or what it is, that a function
 * of Python's asks for. */
static void add_look_at_arguments(const struct judgement *s, const struct thread_group *group,
                                  const struct polling *p, const struct call_path *path,
                                  struct text *words)
{
    static const unsigned unseen = 1U << ASKED_FILE | 1U << ASKED_LOCK | 1U << ASKED_UNTOLD;
    const uint32_t own = call_tree_own(s->g->tree, path->node);
    if (!own || call_tree_node(s->g->tree, own).frame->kind != SHOWN_PYTHON ||
        !(unseen >> p->asked & 1))
        return;
    pid_t pid = profile_see_process(s->p, group->threads[0]->thread->process)->pid;
    if (rule_goes_on(s->p, pid))
        text_addf(words, " wallspy dump --locals -p %d shows its arguments.", pid);
}

/* Does GROUP poll in PATH in a way that somebody may notice? */
static bool delays(const struct judgement *s, const struct thread_group *group,
                   const struct polling *p, const struct call_path *path)
{
    return p->asked && polling_is_often(p) && share_of(path->ns, group->wall_ns) >= worth_telling &&
           may_be_delayed(group, p->asked) &&
           !(p->asked == ASKED_CHILD && is_hardly_late(s, group, p));
}

struct poll_facts {
    struct polling polling;
    struct call_path path;
    struct intervals sleeps;             /* of the first thread */
    struct thread_group *busy;           /* then; NULL: nobody, or several */
    const struct thread_group *children; /* for whose end it asks; NULL: another one's */
    bool of_pool; /* that polls for results: how is not its user's to choose */
};

/* Is there somebody whom GROUP's polling keeps, or nobody at work whom it may look after? */
static bool judge_sleeps(const struct judgement *s, struct thread_group *group,
                         struct poll_facts *facts)
{
    enum asked asked = facts->polling.asked;
    bool supervises = asked != ASKED_CHILD && asked != ASKED_LOCK;
    facts->busy = rule_meanwhile_of(s, group, 1U << CLASS_SLEEP).busy;
    if (!facts->busy && supervises && others_are_active(s, group))
        return false;
    if (asked == ASKED_CHILD && !facts->busy)
        facts->children = groups_of_children(s->g, group->threads[0]->thread->process);
    facts->sleeps = intervals_of(s, group->threads[0]->thread, 1U << CLASS_SLEEP);
    facts->of_pool = is_for_known_result(s->g->tree, facts->path.node);
    return true;
}

void rule_polls(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct poll_facts facts = {.busy = NULL};
    if (group->mixed || share_of(group->class_ns[CLASS_SLEEP], group->wall_ns) < worth_telling ||
        !heaviest_in_class(&group->tally, CLASS_SLEEP, &facts.path))
        return;
    facts.polling = polling_at(s, group, facts.path.node);
    if (!delays(s, group, &facts.polling, &facts.path) || !judge_sleeps(s, group, &facts)) {
        call_path_release(&facts.path);
        return;
    }
    f->share = share_of(facts.path.ns, group->wall_ns);
    f->kind = facts.of_pool ? FINDING_DESCRIBES : f->kind;
    f->blames = facts.busy ? facts.busy->noun : NULL;
    f->also = facts.children ? facts.children->noun : NULL;
    add_figure(f, "share", f->share);
    add_figure(f, "sleeps_per_s", facts.polling.per_s);
    finding_applies(f, &facts, sizeof facts);
}

void tell_polls(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct poll_facts *facts = f->facts;
    add_polls(s, f->group, f->share, &facts->polling, &facts->path, words);
    if (facts->children)
        text_addf(words, " Its children: %s.", facts->children->noun);
    if (facts->busy)
        (void)add_meanwhile(s, facts->busy, &facts->sleeps, words, f);
    if (!facts->of_pool)
        text_addf(words, " %s", asks_remedy(facts->polling.asked));
    if (!facts->busy)
        add_look_at_arguments(s, f->group, &facts->polling, &facts->path, words);
}

void release_polls(void *facts)
{
    struct poll_facts *f = facts;
    call_path_release(&f->path);
    intervals_release(&f->sleeps);
}
