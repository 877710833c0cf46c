/* The rule about one who keeps others waiting by what it holds, where that was read. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "summary/group_facts.h"
#include "summary/heaviest_paths.h"
#include "summary/kernel_side.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

static const double long_wait = 0.3;     /* of a thread's time */
static const double held_part = 0.8;     /* of the wait, for which its holder was read */
static const double searched_part = 0.3; /* of a wait for Python's locks: it speaks for the rest */
static const double still_part = 0.5;    /* of that time, in one wait of the joined thread */
enum { MAX_CHAIN = 3 };

/* A group's waits in futex(2), of the kinds KINDS (1 << enum futex_kind). */
struct held_wait {
    unsigned kinds;
    int64_t ns, held_ns, gone_ns; /* in all; with a holder; with one that is no thread */
    struct thread_group *holder;  /* of most of it; NULL: none */
    int64_t holder_ns;
    struct wait_side side; /* the holder's last; its ADDR is 0 if it had several locks */
    struct wait_side gone; /* the last whose holder is no thread */
};

enum { LOCKS = 1U << FUTEX_LOCK | 1U << FUTEX_RWLOCK, JOINS = 1U << FUTEX_JOIN };

static bool is_wait_of(const struct scene *s, const struct run *run, unsigned kinds)
{
    if (run->state != RUN_BLOCKED)
        return false;
    return kinds >> call_tree_node(s->g->tree, call_tree_of(s->g->tree, run->at)).futex & 1;
}

struct holder_sum {
    struct thread_group *group;
    int64_t ns;
};

static void add_held(struct held_wait *w, struct holder_sum *sums, size_t *n, size_t max,
                     const struct scene *s, const struct run *run)
{
    int64_t ns = run->weights.wall_ns;
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
    size_t at = 0;
    while (at < *n && sums[at].group != group)
        at++;
    if (at == max)
        return;
    *n += at == *n;
    sums[at] = (struct holder_sum){group, (at < *n ? sums[at].ns : 0) + ns};
    w->held_ns += ns;
    if (sums[at].ns > w->holder_ns) {
        bool other = w->holder == group && w->side.addr != side->addr;
        w->holder = group;
        w->holder_ns = sums[at].ns;
        w->side = *side;
        w->side.addr = other ? 0 : side->addr;
    }
}

static struct held_wait judge_wait(const struct scene *s, const struct thread_group *group,
                                   unsigned kinds)
{
    enum { MAX_HOLDERS = 16 };
    struct held_wait w = {.kinds = kinds};
    struct holder_sum sums[MAX_HOLDERS] = {{0}};
    size_t n = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++)
            if (is_wait_of(s, &t->runs[k], kinds))
                add_held(&w, sums, &n, MAX_HOLDERS, s, &t->runs[k]);
    }
    return w;
}

/* The part of the wait that its holders have to explain.  Python's locks are searched for their
 * holders only now and then, whoever holds them: docs/locks.md. */
static double due_ns(const struct held_wait *w)
{
    bool searched =
        w->side.thing == THING_PY_LOCK && (double)w->held_ns >= searched_part * (double)w->ns;
    return (double)(searched ? w->held_ns : w->ns);
}

static bool is_explained(const struct thread_group *group, const struct held_wait *w)
{
    if ((double)w->gone_ns >= held_part * (double)w->ns && w->gone_ns > 0)
        return true;
    return w->holder && w->holder != group && (double)w->holder_ns >= held_part * due_ns(w);
}

enum held_by holder_of_locks(const struct scene *s, const struct thread_group *group)
{
    struct held_wait w = judge_wait(s, group, LOCKS);
    if (w.ns < group->class_ns[CLASS_ORDINARY] / 2)
        return HELD_UNKNOWN;
    if (is_explained(group, &w))
        return HELD_BY_ONE;
    return (double)w.held_ns >= held_part * due_ns(&w) ? HELD_BY_SEVERAL : HELD_UNKNOWN;
}

/* Does RUN wait so for one of W's holder? */
static bool is_held(const struct scene *s, const struct held_wait *w, const struct run *run)
{
    const struct profile_thread *holder =
        is_wait_of(s, run, w->kinds) ? holders_thread(s->holders, run) : NULL;
    return holder && groups_of(s->g, holder) == w->holder;
}

/* When a thread of GROUP waits so for W's holder; the caller frees it. */
static struct interval *intervals_held(const struct scene *s, const struct thread_group *group,
                                       const struct held_wait *w, size_t *ret_n)
{
    struct interval *ret = NULL;
    size_t n = 0;
    size_t capacity = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs && !t->n_folded; k++)
            if (is_held(s, w, &t->runs[k]))
                ret = interval_add(ret, &n, &capacity, &t->runs[k]);
    }
    *ret_n = intervals_unite(ret, n);
    return ret;
}

/* "which is 94% in query > clock_nanosleep then", of the thread that holds what is waited for. */
static bool add_holders_way(const struct scene *s, const struct held_wait *w, struct tally *t,
                            uint32_t *ret_node, struct text *words, struct finding *f)
{
    struct call_path path;
    (void)s;
    if (!call_paths_heaviest(t, &path, 1))
        return false;
    double share = share_of(path.ns, t->all_ns);
    text_addf(words, "which %s then ", w->holder->plural ? "are" : "is");
    add_percent(words, share);
    text_add(words, " in ");
    add_way(words, &path);
    add_figure(f, "holder_share", share);
    *ret_node = path.node;
    call_path_release(&path);
    return true;
}

static void add_thing(const struct scene *s, const struct held_wait *w, struct text *words)
{
    text_add(words, " for ");
    if (w->side.thing == THING_THREAD) {
        text_addf(words, "%s to end", w->holder->noun);
    } else {
        wait_side_add_thing(words, s->p, &w->side);
        text_addf(words, " held by %s", w->holder->noun);
    }
}

static bool is_gone(const struct held_wait *w)
{
    return w->gone_ns > w->holder_ns;
}

static void add_gone(const struct scene *s, const struct held_wait *w, struct text *words)
{
    text_add(words, " for ");
    wait_side_add_thing(words, s->p, &w->gone);
    text_addf(words,
              " held by %d, which is not a thread of this process: it has ended, or the lock was "
              "inherited by fork",
              w->gone.blocker.tid);
}

/* The holder, its state meanwhile, and the thread that it waits for itself. */
static void add_chain(const struct scene *s, const struct thread_group *group,
                      const struct held_wait *first, struct text *words, struct finding *f)
{
    const struct thread_group *seen[MAX_CHAIN + 1] = {group};
    struct held_wait w = *first;
    uint32_t node = 0;
    bool waits_on = true;
    for (size_t depth = 1; waits_on; depth++) {
        size_t n = 0;
        struct interval *waits = intervals_held(s, seen[depth - 1], &w, &n);
        struct tally t;
        tally_init(&t, s->g->tree, TALLY_ALL);
        for (size_t i = 0; i < w.holder->n && n; i++)
            tally_add(&t, w.holder->threads[i]->thread, waits, n);
        struct held_wait next = judge_wait(s, w.holder, LOCKS | JOINS);
        bool explained = is_explained(w.holder, &next) && next.ns > t.all_ns / 2;
        waits_on = explained && next.holder && !is_gone(&next);
        for (size_t i = 0; i < depth && waits_on; i++)
            waits_on = seen[i] != next.holder;
        text_add(words, ", ");
        if (explained && is_gone(&next)) {
            text_addf(words, "which wait%s", verb_s(w.holder));
            add_gone(s, &next, words);
        } else if (!waits_on || depth == MAX_CHAIN) {
            if (!add_holders_way(s, &w, &t, &node, words, f))
                text_truncate(words, words->len - 2);
            waits_on = false;
        } else {
            text_addf(words, "which wait%s", verb_s(w.holder));
            add_thing(s, &next, words);
            seen[depth] = w.holder;
            w = next;
        }
        tally_release(&t);
        free(waits);
    }
    text_add(words, ".");
    f->also = w.holder->noun; /* who is at the end */
    if (node)
        (void)add_kernel_side(s, w.holder, node, false, words, f);
}

static bool path_to_wait(const struct scene *s, struct thread_group *group, unsigned kinds,
                         struct call_path *ret)
{
    uint32_t best = 0;
    for (uint32_t node = 1; node <= call_tree_count(s->g->tree); node++)
        if (kinds >> call_tree_node(s->g->tree, node).futex & 1 &&
            tally_self(&group->tally, node) > 0 &&
            (!best || tally_self(&group->tally, node) > tally_self(&group->tally, best)))
            best = node;
    if (best)
        *ret = call_path_to(&group->tally, best);
    return best != 0;
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
static bool is_news(const struct thread_group *group, const struct held_wait *w)
{
    if (w->side.thing != THING_THREAD || w->gone_ns > w->holder_ns)
        return true;
    int64_t longest_ns = 0;
    for (size_t i = 0; i < w->holder->n; i++)
        longest_ns = max_i64(longest_ns, longest_wait_ns(w->holder->threads[i]->thread));
    return (double)longest_ns >= still_part * (double)w->ns / (double)group->n;
}

static void write_words(const struct scene *s, struct thread_group *group,
                        const struct held_wait *w, struct finding *f)
{
    struct text words = {0};
    struct call_path path;
    double share = share_of(w->ns, group->wall_ns);
    if (!path_to_wait(s, group, w->kinds, &path))
        return;
    text_addf(&words, "%s wait%s ", group->noun, verb_s(group));
    add_percent(&words, share);
    text_addf(&words, " of %s time ", possessive(group));
    add_place(&words, &path);
    text_add(&words, ",");
    if (is_gone(w)) {
        add_gone(s, w, &words);
        text_add(&words, ".");
    } else {
        add_thing(s, w, &words);
        add_chain(s, group, w, &words, f);
        add_meaning(s, path.node, &words);
        f->blames = w->holder->noun;
    }
    add_figure(f, "held_part", share_of(max_i64(w->holder_ns, w->gone_ns), w->ns));
    f->words = words.s;
    /* Of a main thread that waits for a holder the user asks, whoever leads. */
    bool asked = group == s->lead || group->leads;
    f->weight = share * (asked ? 1 : 0.7) + (asked ? 0.2 : 0);
    call_path_release(&path);
}

static bool is_told(const struct scene *s, const struct thread_group *group,
                    const struct held_wait *w)
{
    return share_of(w->ns, group->wall_ns) >= long_wait && is_explained(group, w) &&
           is_news(group, w) && !facts_about(s, group)->in_circle && !facts_about(s, group)->stuck;
}

/* Of GROUP's waits for locks and for ends those that last longer. */
static struct held_wait longer_wait(const struct scene *s, const struct thread_group *group)
{
    struct held_wait locks = judge_wait(s, group, LOCKS);
    struct held_wait joins = judge_wait(s, group, JOINS);
    return joins.ns > locks.ns ? joins : locks;
}

bool rule_finds_holder_of(const struct scene *s, const struct thread_group *group)
{
    struct held_wait w = longer_wait(s, group);
    return is_told(s, group, &w);
}

void rule_held(const struct scene *s, struct thread_group *group, struct finding *f)
{
    struct held_wait w = longer_wait(s, group);
    f->weight = share_of(w.ns, group->wall_ns);
    add_figure(f, "share", f->weight);
    if (is_told(s, group, &w))
        write_words(s, group, &w, f);
}
