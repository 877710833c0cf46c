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

/* A thread's sleeps, and who is busy then; NULL: nobody, or several. */
struct sleeps {
    struct intervals when;
    const struct thread_group *busy;
};

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

/* The words of GROUP that polls as P says, in SLEEPS. */
static void tell(const struct judgement *s, const struct thread_group *group,
                 const struct polling *p, const struct call_path *path, const struct sleeps *sleeps,
                 struct finding *f)
{
    struct text words = {0};
    double share = share_of(path->ns, group->wall_ns);
    const struct thread_group *children =
        p->asked == ASKED_CHILD && !sleeps->busy
            ? groups_of_children(s->g, group->threads[0]->thread->process)
            : NULL;
    f->share = share;
    add_figure(f, "share", share);
    add_figure(f, "sleeps_per_s", p->per_s);
    add_polls(s, group, share, p, path, &words);
    if (children) {
        text_addf(&words, " Its children: %s.", children->noun);
        f->also = children->noun;
    }
    if (sleeps->busy) {
        (void)add_meanwhile(s, sleeps->busy, &sleeps->when, &words, f);
        f->blames = sleeps->busy->noun;
    }
    if (is_for_known_result(s->g->tree, path->node))
        f->kind = FINDING_DESCRIBES; /* of a pool that polls: how is not its user's to choose */
    else
        text_addf(&words, " %s", asks_remedy(p->asked));
    if (!sleeps->busy)
        add_look_at_arguments(s, group, p, path, &words);
    f->words = words.s;
}

/* Does GROUP poll in PATH in a way that somebody may notice? */
static bool delays(const struct judgement *s, const struct thread_group *group,
                   const struct polling *p, const struct call_path *path)
{
    return p->asked && polling_is_often(p) && share_of(path->ns, group->wall_ns) >= worth_telling &&
           may_be_delayed(group, p->asked) &&
           !(p->asked == ASKED_CHILD && is_hardly_late(s, group, p));
}

void rule_polls(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct call_path path;
    if (group->mixed || share_of(group->class_ns[CLASS_SLEEP], group->wall_ns) < worth_telling ||
        !heaviest_in_class(&group->tally, CLASS_SLEEP, &path))
        return;
    struct polling p = polling_at(s, group, path.node);
    if (delays(s, group, &p, &path)) {
        struct sleeps sleeps = {.busy = NULL};
        sleeps.when = intervals_of(s, group->threads[0]->thread, 1U << CLASS_SLEEP);
        sleeps.busy = rule_meanwhile_of(s, group, 1U << CLASS_SLEEP).busy;
        bool supervises = p.asked != ASKED_CHILD && p.asked != ASKED_LOCK;
        if (sleeps.busy || !supervises || !others_are_active(s, group))
            tell(s, group, &p, &path, &sleeps, f);
        intervals_release(&sleeps.when);
    }
    call_path_release(&path);
}
