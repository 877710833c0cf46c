#include "summary/lockstep.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "base/share.h"
#include "summary/heaviest_paths.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

/* How much better two threads' times agree than by chance: Cohen's kappa, 1 where they always do.
 * Jacob Cohen, "A coefficient of agreement for nominal scales", 1960. */
static const double least_agreement = 0.8;
static const double in_turn = -0.6; /* two that hardly ever work, or wait, at the same time */
enum { LEAST_TIMES = 3, GAP_NS = 30 * NS_PER_MS }; /* what is shorter is no time of its own */

static bool is_unowned(const struct call_tree *t, uint32_t node, const void *unused)
{
    (void)unused;
    return is_unowned_wait(t, node);
}

/* Adds RUN's time to ALL, whose last one ended before: as one with it if hardly anything is
 * between. */
static void add_time_of(struct intervals *all, const struct run *run)
{
    const struct interval time = interval_of_run(run);
    if (all->n && time.start_ns - all->items[all->n - 1].end_ns <= GAP_NS)
        all->items[all->n - 1].end_ns = time.end_ns;
    else
        intervals_add(all, time);
}

/* When T was in the user's function of KEY. */
static struct intervals times_in(const struct judgement *s, const struct profile_thread *t,
                                 uint32_t key)
{
    struct intervals ret = {.n = 0};
    for (size_t i = 0; i < t->n_runs; i++)
        if (call_path_own_key(s->g->tree, call_tree_of(s->g->tree, t->runs[i].at)) == key)
            add_time_of(&ret, &t->runs[i]);
    return ret;
}

/* When T waited for a condition or a semaphore. */
static struct intervals waits_of(const struct judgement *s, const struct profile_thread *t)
{
    struct intervals ret = {.n = 0};
    for (size_t i = 0; i < t->n_runs; i++)
        if (t->runs[i].state == RUN_BLOCKED &&
            is_unowned_wait(s->g->tree, call_tree_of(s->g->tree, t->runs[i].at)))
            add_time_of(&ret, &t->runs[i]);
    return ret;
}

static double agreement(const struct intervals *a, const struct intervals *b, int64_t all_ns)
{
    double x = share_of(intervals_ns(a), all_ns);
    double y = share_of(intervals_ns(b), all_ns);
    double both = share_of(intervals_both_ns(a, b), all_ns);
    double agree = both + (1 - x - y + both);
    double chance = x * y + (1 - x) * (1 - y);
    return chance < 1 ? (agree - chance) / (1 - chance) : 0;
}

/* May OTHER's waits agree with SHARE of the time?  The shares differ by less than what does not
 * agree, and this takes no look at its threads, who may be many. */
static bool may_agree(const struct judgement *s, struct thread_group *other, double share)
{
    int64_t ns = 0;
    for (uint32_t node = 1; node <= call_tree_count(s->g->tree); node++)
        if (tally_self(&other->tally, node) > 0 && is_unowned_wait(s->g->tree, node))
            ns += tally_self(&other->tally, node);
    return ns > 0 && fabs(share_of(ns, other->wall_ns) - share) <= 1 - least_agreement;
}

/* Does each thread of OTHER wait when BUSY is, of a thread that lives for ALL_NS, and else not? */
static bool waits_meanwhile(const struct judgement *s, const struct thread_group *other,
                            const struct intervals *busy, int64_t all_ns)
{
    for (size_t i = 0; i < other->n; i++) {
        const struct profile_thread *t = other->threads[i]->thread;
        if (t->n_folded)
            return false;
        struct intervals waits = waits_of(s, t);
        bool agrees = waits.n >= LEAST_TIMES && agreement(busy, &waits, all_ns) >= least_agreement;
        intervals_release(&waits);
        if (!agrees)
            return false;
    }
    return true;
}

/* For how long do A and B live at the same time?  0: one of them mostly lives alone. */
static int64_t common_life_ns(const struct profile_thread *a, const struct profile_thread *b)
{
    static const double nearly_all = 0.95;
    int64_t ns = min_i64(a->end_ns, b->end_ns) - max_i64(a->start_ns, b->start_ns);
    int64_t longer_ns = max_i64(a->end_ns - a->start_ns, b->end_ns - b->start_ns);
    return share_of(ns, longer_ns) >= nearly_all ? ns : 0;
}

/* Do T, which waits HERE, and OTHER wait for each other in turn, each for what the other makes? */
static bool take_turns(const struct judgement *s, const struct profile_thread *t,
                       const struct intervals *here, const struct profile_thread *other)
{
    int64_t all_ns = common_life_ns(t, other);
    if (here->n < LEAST_TIMES || !all_ns)
        return false;
    struct intervals there = waits_of(s, other);
    bool ret = agreement(here, &there, all_ns) <= in_turn;
    intervals_release(&there);
    return ret;
}

static void add_found(struct lockstep *all, struct thread_group *group,
                      const struct call_path *path, bool turns)
{
    all->items = array_reserve(all->items, &all->capacity, all->n + 1, sizeof *all->items);
    all->items[all->n++] = (struct lockstep_other){group, *path, turns};
}

/* Adds OTHER, which waits while GROUP's thread does not wait HERE. */
static void find_group(const struct judgement *s, const struct thread_group *group,
                       const struct intervals *here, struct thread_group *other,
                       struct lockstep *ret)
{
    struct call_path path;
    if (!call_path_of_nodes(&other->tally, is_unowned, NULL, &path))
        return;
    bool turns =
        other->n == 1 && take_turns(s, group->threads[0]->thread, here, other->threads[0]->thread);
    add_found(ret, other, &path, turns);
}

/* Adds the first single thread of GROUP's process that takes turns with GROUP's, which waits
 * HERE. */
static void find_turns(const struct judgement *s, const struct thread_group *group,
                       const struct intervals *here, struct lockstep *ret)
{
    const struct profile_thread *t = group->threads[0]->thread;
    struct call_path path;
    for (size_t i = 0; i < s->g->n && !ret->n; i++) {
        struct thread_group *other = &s->g->items[i];
        const struct profile_thread *o = other->threads[0]->thread;
        if (other != group && !other->mixed && !other->idle && other->n == 1 && !o->n_folded &&
            o->process.ix == t->process.ix && take_turns(s, t, here, o) &&
            call_path_of_nodes(&other->tally, is_unowned, NULL, &path))
            add_found(ret, other, &path, true);
    }
}

struct lockstep lockstep_of(const struct judgement *s, const struct thread_group *group,
                            uint32_t node)
{
    struct lockstep ret = {.n = 0};
    const struct profile_thread *t = group->threads[0]->thread;
    uint32_t key = call_path_own_key(s->g->tree, node);
    if (!key || group->n > 1 || t->n_folded || profile_time_step_ns(s->p) > 0)
        return ret;
    struct intervals busy = times_in(s, t, key);
    struct intervals here = waits_of(s, t);
    double share = share_of(intervals_ns(&busy), group->wall_ns);
    for (size_t i = 0; i < s->g->n && busy.n >= LEAST_TIMES; i++) {
        struct thread_group *other = &s->g->items[i];
        if (other != group && !other->mixed &&
            other->threads[0]->thread->process.ix == t->process.ix && may_agree(s, other, share) &&
            waits_meanwhile(s, other, &busy, group->wall_ns))
            find_group(s, group, &here, other, &ret);
    }
    ret.agrees = ret.n > 0;
    if (!ret.n)
        find_turns(s, group, &here, &ret);
    intervals_release(&busy);
    intervals_release(&here);
    return ret;
}

static void add_place_of(const struct lockstep_other *other, bool agrees, struct text *words)
{
    double share = share_of(other->path.ns, other->group->wall_ns);
    text_addf(words, agrees ? " Meanwhile, and hardly at other times, %s wait%s " : " %s wait%s ",
              other->group->noun, verb_s(other->group));
    if (agrees) {
        add_place(words, &other->path);
        text_add(words, ", ");
    }
    add_percent(words, share);
    text_addf(words, " of %s time", possessive(other->group));
    if (!agrees) {
        text_add(words, " ");
        add_place(words, &other->path);
    }
}

void lockstep_add(const struct lockstep *all, const struct thread_group *group, struct text *words)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct lockstep_other *other = &all->items[i];
        add_place_of(other, all->agrees, words);
        if (other->turns)
            text_addf(words,
                      ": %s and %s take turns. A longer queue, or work asked for ahead, lets both "
                      "work at the same time.",
                      group->noun, other->group->noun);
        else
            text_addf(words, ": %s has, or makes, what %s.", group->noun,
                      other->group->plural ? "they need" : "it needs");
    }
}

void lockstep_release(struct lockstep *all)
{
    for (size_t i = 0; i < all->n; i++)
        call_path_release(&all->items[i].path);
    free(all->items);
    *all = (struct lockstep){.n = 0};
}
