#include "summary/held_wait.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"

static const double held_part = 0.8;     /* of the wait, for which its holder was read */
static const double searched_part = 0.3; /* of a wait for Python's locks: it speaks for the rest */
static const double still_part = 0.5;    /* of that time, in one wait of the joined thread */

bool held_wait_is(const struct judgement *s, const struct run *run, unsigned kinds)
{
    if (run->state != RUN_BLOCKED)
        return false;
    return kinds >> call_tree_node(s->g->tree, call_tree_of(s->g->tree, run->at)).futex & 1;
}

struct holder_sums {
    const struct judgement *s;
    struct held_wait w;
    int64_t *by_group; /* the time that W's holders have of it */
};

/* NS of RUN are in the sums, if it is such a wait. */
static void add_wait(struct holder_sums *sums, const struct run *run, int64_t ns)
{
    const struct judgement *s = sums->s;
    struct held_wait *w = &sums->w;
    if (!held_wait_is(s, run, w->kinds))
        return;
    const struct wait_side *side = holders_side(s->holders, run->at);
    w->ns += ns;
    if (side->blocker.kind == BLOCKER_GONE) {
        w->gone_ns += ns;
        w->gone = *side;
    }
    const struct profile_thread *t = holders_thread(s->holders, run);
    struct thread_group *group = t ? groups_of(s->g, t) : NULL;
    if (!group)
        return;
    int64_t *sum = &sums->by_group[group - s->g->items];
    *sum += ns;
    w->held_ns += ns;
    if (*sum > w->holder_ns) {
        bool other = w->holder == group && w->side.addr != side->addr;
        w->holder = group;
        w->holder_ns = *sum;
        w->side = *side;
        w->side.addr = other ? 0 : side->addr;
    }
}

static struct holder_sums new_sums(const struct judgement *s, unsigned kinds)
{
    return (struct holder_sums){s, {.kinds = kinds}, xcalloc(s->g->n, sizeof(int64_t))};
}

struct held_wait held_wait_of(const struct judgement *s, const struct thread_group *group,
                              unsigned kinds)
{
    struct holder_sums sums = new_sums(s, kinds);
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++)
            add_wait(&sums, &t->runs[k], t->runs[k].weights.wall_ns);
    }
    free(sums.by_group);
    return sums.w;
}

static void see_wait(void *ctx, const struct run_parts *part, uint32_t node, int64_t ns)
{
    (void)node;
    add_wait(ctx, part->run, ns);
}

struct held_wait held_wait_in(const struct judgement *s, const struct tally *t, unsigned kinds)
{
    struct holder_sums sums = new_sums(s, kinds);
    tally_each(t, see_wait, &sums);
    free(sums.by_group);
    return sums.w;
}

/* The part of the wait that its holders have to explain.  Python's locks are searched for their
 * holders only now and then, whoever holds them: docs/locks.md. */
static double due_ns(const struct held_wait *w)
{
    bool searched =
        w->side.thing == THING_PY_LOCK && (double)w->held_ns >= searched_part * (double)w->ns;
    return (double)(searched ? w->held_ns : w->ns);
}

bool held_wait_is_explained(const struct thread_group *group, const struct held_wait *w)
{
    if ((double)w->gone_ns >= held_part * (double)w->ns && w->gone_ns > 0)
        return true;
    return w->holder && w->holder != group && (double)w->holder_ns >= held_part * due_ns(w);
}

enum held_by held_by_whom(const struct thread_group *group, const struct held_wait *locks)
{
    if (held_wait_is_explained(group, locks))
        return HELD_BY_ONE;
    return (double)locks->held_ns >= held_part * due_ns(locks) ? HELD_BY_SEVERAL : HELD_UNKNOWN;
}

bool held_wait_is_gone(const struct held_wait *w)
{
    return w->gone_ns > w->holder_ns;
}

/* The longest time for which T was in one wait. */
static int64_t longest_wait_ns(const struct profile_thread *t)
{
    int64_t longest_ns = 0;
    for (size_t i = 0; i < t->n_runs; i++)
        if (t->runs[i].state == RUN_BLOCKED && t->runs[i].waits <= 1)
            longest_ns = max_i64(longest_ns, t->runs[i].weights.wall_ns);
    return longest_ns;
}

/* Threads that wait for the end of one that works are no news: what it works at is. */
static bool says_more(const struct thread_group *group, const struct held_wait *w)
{
    if (w->side.thing != THING_THREAD || w->gone_ns > w->holder_ns)
        return true;
    int64_t longest_ns = 0;
    for (size_t i = 0; i < w->holder->n; i++)
        longest_ns = max_i64(longest_ns, longest_wait_ns(w->holder->threads[i]->thread));
    return (double)longest_ns >= still_part * (double)w->ns / (double)group->n;
}

bool held_wait_is_news(const struct thread_group *group, const struct held_wait *w)
{
    return share_of(w->ns, group->wall_ns) >= worth_telling && held_wait_is_explained(group, w) &&
           says_more(group, w);
}
