#include "summary/kernel_side.h"

#include <stdlib.h>

#include "base/hash.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"
#include "summary/wait_text.h"

static const double most_of_it = 0.8;
enum { MAX_SIDES = 16 };

/* The other sides of the runs that end in one node. */
struct side_sum {
    char *what; /* two that read the same are one */
    struct wait_side side;
    pid_t waiter; /* the process */
    int64_t ns;
    bool many; /* several processes of that name */
};
struct sides {
    struct side_sum items[MAX_SIDES];
    size_t n;
    int64_t ns;
    struct map of_wait; /* index into ITEMS */
};

/* A program that starts one child after the other waits for its children; which, is no news. */
static size_t index_of(const struct scene *s, struct sides *all, const struct wait_side *side)
{
    struct text what = {0};
    size_t i = 0;
    text_addf(&what, "%d %d ", (int)side->thing, (int)side->blocker.kind);
    wait_side_add_what(&what, s->p, side, false);
    while (i < all->n && !str_eq(all->items[i].what, what.s))
        i++;
    if (i < all->n || i == MAX_SIDES)
        text_release(&what);
    else
        all->items[all->n++] = (struct side_sum){.what = what.s, .side = *side};
    return i;
}

static struct side_sum *sum_of(const struct scene *s, struct sides *all, wait_id wait,
                               const struct wait_side *side)
{
    uint64_t i;
    if (!map_get(&all->of_wait, wait.ix, &i)) {
        i = index_of(s, all, side);
        map_put(&all->of_wait, wait.ix, i);
    }
    return i < MAX_SIDES ? &all->items[i] : NULL;
}

static void add_run(const struct scene *s, const struct profile_thread *t, const struct run *run,
                    struct sides *all)
{
    const struct wait_side *side = holders_side(s->holders, run->at);
    all->ns += run->weights.wall_ns;
    struct side_sum *sum =
        wait_side_is_kernels(side->thing) ? sum_of(s, all, run->at.wait, side) : NULL;
    if (!sum)
        return;
    sum->many |= sum->side.blocker.pid != side->blocker.pid;
    sum->waiter = profile_see_process(s->p, t->process)->pid;
    sum->ns += run->weights.wall_ns;
}

static void release_sides(struct sides *all)
{
    for (size_t i = 0; i < all->n; i++)
        free(all->items[i].what);
    map_release(&all->of_wait);
}

static const struct side_sum *heaviest(const struct sides *all)
{
    const struct side_sum *best = NULL;
    for (size_t i = 0; i < all->n; i++)
        if (!best || all->items[i].ns > best->ns)
            best = &all->items[i];
    return best && (double)best->ns >= most_of_it * (double)all->ns ? best : NULL;
}

/* "its children (convert)" */
static void add_many(const struct scene *s, const struct side_sum *sum, struct text *words)
{
    const char *name = profile_text(s->p, sum->side.blocker.name);
    const char *what = sum->side.thing == THING_CHILD       ? "children"
                       : sum->side.thing == THING_FILE_LOCK ? "a file's lock, held by processes"
                                                            : "processes at the other end";
    text_addf(words, "%s (%s)", what, name);
}

bool add_kernel_side(const struct scene *s, const struct thread_group *group, uint32_t node,
                     bool named, struct text *words, struct finding *f)
{
    struct sides all = {.n = 0};
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++)
            if (t->runs[k].state == RUN_BLOCKED && call_tree_of(s->g->tree, t->runs[k].at) == node)
                add_run(s, t, &t->runs[k], &all);
    }
    const struct side_sum *sum = heaviest(&all);
    /* A remote end's address is in the wait's name. */
    bool process = sum && sum->side.blocker.kind == BLOCKER_PROCESS;
    bool told = sum && wait_side_is_told(&sum->side) &&
                (process || !named || sum->side.thing != THING_SOCKET);
    if (told) {
        text_addf(words, " %s wait%s for ", group->plural ? "They" : "It", verb_s(group));
        if (sum->many && process)
            add_many(s, sum, words);
        else
            wait_side_add_text(words, s->p, &sum->side, sum->waiter, false);
        text_add(words, ".");
        add_figure(f, "other_side_part", share_of(sum->ns, all.ns));
    }
    release_sides(&all);
    return told;
}

/* The only thread that the waits at NODE of GROUP are for; NULL: there is none, or several.  The
 * caller releases the waits. */
static const struct profile_thread *only_other(const struct scene *s,
                                               const struct thread_group *group, uint32_t node,
                                               struct intervals *ret_waits)
{
    const struct profile_thread *other = NULL;
    bool one = true;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++) {
            const struct run *run = &t->runs[k];
            if (run->state != RUN_BLOCKED || call_tree_of(s->g->tree, run->at) != node)
                continue;
            const struct profile_thread *who = holders_follow(s->holders, run);
            one &= !who || !other || who == other;
            other = who ? who : other;
            intervals_add_run(ret_waits, run);
        }
    }
    intervals_unite(ret_waits);
    return one ? other : NULL;
}

void add_what_it_does(const struct scene *s, const struct thread_group *group, uint32_t node,
                      struct text *words, struct finding *f)
{
    struct intervals waits = {0};
    const struct profile_thread *other = only_other(s, group, node, &waits);
    const struct thread_group *its_group = other ? groups_of(s->g, other) : NULL;
    if (its_group && its_group != group && !its_group->mixed &&
        other->process.ix != group->threads[0]->thread->process.ix) {
        (void)add_meanwhile(s, its_group, &waits, words, f);
        f->also = its_group->noun;
    }
    intervals_release(&waits);
}
