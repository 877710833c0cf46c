#include "summary/crew.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "base/share.h"
#include "summary/rule_words.h"

static bool is_of(const struct profile *p, const struct thread_summary *t,
                  const struct thread_group *group)
{
    const struct profile_thread *first = group->threads[0]->thread;
    bool same = t->thread->process.ix == first->process.ix;
    uint32_t parent = profile_see_process(p, first->process)->parent.ix;
    bool siblings = t->thread->main && parent &&
                    profile_see_process(p, t->thread->process)->parent.ix == parent;
    return str_eq(t->group, group->threads[0]->group) && t->thread->main == first->main &&
           (same || siblings) && !t->thread->n_folded;
}

bool crew_has(const struct crew *c, const struct thread_summary *t)
{
    return (c->joined && c->joined[t - c->s->g->summaries.threads]) || is_of(c->s->p, t, c->group);
}

const struct thread_summary *crew_next(const struct crew *c, size_t *i)
{
    const struct thread_summaries *all = &c->s->g->summaries;
    while (*i < all->n) {
        const struct thread_summary *t = &all->threads[(*i)++];
        if (crew_has(c, t))
            return t;
    }
    return NULL;
}

static void add_thread(struct crew *c, const struct thread_summary *t)
{
    c->start_ns = c->n ? min_i64(c->start_ns, t->thread->start_ns) : t->thread->start_ns;
    c->end_ns = c->n ? max_i64(c->end_ns, t->thread->end_ns) : t->thread->end_ns;
    c->n++;
    c->wall_ns += t->wall_ns;
    tally_add_thread(&c->time, t->thread);
}

double crew_alive(const struct crew *c)
{
    return fmax(share_of(c->wall_ns, c->end_ns - c->start_ns), 1);
}

bool crew_make(const struct judgement *s, struct thread_group *group, size_t least,
               struct crew *ret)
{
    *ret = (struct crew){.s = s, .group = group};
    if (group->mixed || group->idle)
        return false;
    for (struct thread_group *before = s->g->items; before < group; before++)
        if (!before->mixed && !before->idle && is_of(s->p, before->threads[0], group))
            return false;
    tally_init(&ret->time, s->g->tree, TALLY_ALL);
    const struct thread_summary *t;
    for (size_t i = 0; (t = crew_next(ret, &i));)
        add_thread(ret, t);
    return ret->n >= least && is_judged(group);
}

/* Is GROUP ever in the function of KEY? */
static bool is_ever_in(struct thread_group *group, uint32_t key)
{
    const struct call_tree *tree = group->tally.tree;
    for (uint32_t node = 1; node <= call_tree_count(tree); node++)
        if (call_tree_node(tree, node).key == key && tally_total(&group->tally, node) > 0)
            return true;
    return false;
}

void crew_widen(struct crew *c, uint32_t key)
{
    const struct groups *g = c->s->g;
    const struct profile_thread *first = c->group->threads[0]->thread;
    bool *joined = xcalloc(g->summaries.n, sizeof *joined);
    for (size_t i = 0; i < g->n && key && !first->main; i++) {
        struct thread_group *group = &g->items[i];
        if (group->mixed || !is_ever_in(group, key))
            continue;
        for (size_t k = 0; k < group->n; k++) {
            const struct thread_summary *t = group->threads[k];
            if (t->thread->main || t->thread->n_folded ||
                t->thread->process.ix != first->process.ix || crew_has(c, t))
                continue;
            joined[t - g->summaries.threads] = c->wider = true;
            add_thread(c, t);
        }
    }
    c->joined = joined;
}

void crew_release(struct crew *c)
{
    free(c->joined);
    tally_release(&c->time);
}

static void add_change(struct crew_changes *all, int64_t ns, int by)
{
    all->items = array_reserve(all->items, &all->capacity, all->n + 1, sizeof *all->items);
    all->items[all->n++] = (struct crew_change){ns, by};
}

void crew_changes_add(struct crew_changes *all, const struct intervals *times)
{
    for (size_t i = 0; i < times->n; i++) {
        add_change(all, times->items[i].start_ns, 1);
        add_change(all, times->items[i].end_ns, -1);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct crew_change *x = a;
    const struct crew_change *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

void crew_changes_sort(struct crew_changes *all)
{
    if (all->n)
        qsort(all->items, all->n, sizeof *all->items, by_time);
}

void crew_changes_release(struct crew_changes *all)
{
    free(all->items);
}

void crew_add_name(const struct crew *c, struct text *out)
{
    const char *stem = c->group->threads[0]->group;
    size_t len = c->wider ? 0 : thread_stem_len(stem);
    bool processes = c->group->threads[0]->thread->main;
    text_add_tame(out, stem, len);
    text_addf(out, "%s%s", len ? " " : "", processes ? "processes" : "threads");
}
