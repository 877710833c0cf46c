#include "summary/other_groups.h"

#include "summary/polling.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

static const double most_share = 0.95; /* that is as good as all */

/* Does GROUP mostly wait for somebody to wake it? */
static bool is_to_be_woken(const struct judgement *s, const struct thread_group *group)
{
    return group->n_paths &&
           call_tree_node(s->g->tree, group->paths[0].node).futex == FUTEX_CONDITION;
}

/* Does OTHER only sleep, and wakes up far too seldom to end that many WAITS?  Threads that come and
 * go may be waited for until they end. */
static bool sleeps_too_long(const struct judgement *s, const struct thread_group *other,
                            double waits)
{
    enum { WAITS_A_SLEEP = 4 };
    return !group_comes_and_goes(s->g, other) &&
           share_of(other->class_ns[CLASS_SLEEP], other->wall_ns) >= most_share &&
           (double)rule_usage_of(other).voluntary * WAITS_A_SLEEP < waits;
}

size_t other_groups_list(const struct judgement *s, const struct thread_group *group, bool inside,
                         double waits, struct thread_group **ret, size_t max)
{
    uint32_t process = group->threads[0]->thread->process.ix;
    size_t n = 0;
    for (int woken = 0; woken <= 1; woken++)
        for (size_t i = 0; i < s->g->n; i++) {
            struct thread_group *other = &s->g->items[i];
            bool elsewhere = other->threads[0]->thread->process.ix != process;
            if (other == group || other->idle || other->launches || (inside && elsewhere) ||
                is_to_be_woken(s, other) != woken || sleeps_too_long(s, other, waits))
                continue;
            if (n < max)
                ret[n] = other;
            n++;
        }
    return n;
}

/* ": it sleeps 100 times a second, 10 ms each." where OTHER does at NODE, or waits with a time-out;
 * else the full stop. */
static void add_how_it_sleeps(const struct judgement *s, struct thread_group *other, uint32_t node,
                              struct text *words)
{
    bool sleeps = node && class_of_node(s->g->tree, node) == CLASS_SLEEP;
    bool timed = node && !sleeps && polling_has_time_out(s, other, node);
    struct polling p = {0};
    if (sleeps || timed)
        p = polling_at(s, other, node);
    if (polling_is_often(&p)) {
        text_addf(words, "%s: %s ", timed ? ", with a time-out" : "",
                  other->plural ? "each" : "it");
        polling_add_times(&p, timed ? "waits" : "sleeps", words);
    } else {
        text_add(words, ".");
    }
}

/* Is OTHER a main thread that only waits for others' end, or, if there are SEVERAL others, sleeps?
 * It looks after them. */
static bool looks_after(const struct judgement *s, const struct thread_group *other, bool several)
{
    if (!other->threads[0]->thread->main || !other->n_paths)
        return false;
    bool joins = call_tree_node(s->g->tree, other->paths[0].node).futex == FUTEX_JOIN;
    if (!joins && !several)
        return false;
    int64_t ns = joins ? other->paths[0].ns : other->class_ns[CLASS_SLEEP];
    return share_of(ns, other->wall_ns) >= most_share;
}

struct other_groups other_groups_of(const struct judgement *s, const struct thread_group *group,
                                    bool inside, double waits)
{
    struct other_groups ret = {.n = 0};
    struct thread_group *others[MOST_OTHERS];
    size_t n = other_groups_list(s, group, inside, waits, others, MOST_OTHERS);
    for (size_t i = 0; i < n && n <= MOST_OTHERS; i++) {
        struct other_group one = {.group = others[i]};
        if (looks_after(s, one.group, n > 1) || !where_of(&one.group->tally, &one.where))
            continue;
        if (where_share(&one.where) < worth_telling) { /* who else idles */
            where_release(&one.where);
            continue;
        }
        if (one.where.node)
            one.side = kernel_side_of(s, one.group, one.where.node);
        ret.items[ret.n++] = one;
    }
    return ret;
}

void other_groups_add(const struct judgement *s, const struct other_groups *others,
                      struct text *words, struct finding *f)
{
    for (size_t i = 0; i < others->n; i++) {
        const struct other_group *one = &others->items[i];
        text_addf(words, " %s %s ", one->group->noun, one->group->plural ? "are" : "is");
        where_add(s->g->tree, &one->where, words);
        add_how_it_sleeps(s, one->group, one->where.node, words);
        kernel_side_add(s, one->group, &one->side, words, f);
    }
}

void other_groups_release(struct other_groups *others)
{
    for (size_t i = 0; i < others->n; i++) {
        where_release(&others->items[i].where);
        kernel_side_release(&others->items[i].side);
    }
    others->n = 0;
}
