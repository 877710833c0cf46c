/* The rule about one who keeps others waiting by what it holds, where that was read. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "summary/group_facts.h"
#include "summary/heaviest_paths.h"
#include "summary/kernel_side.h"
#include "summary/rule_words.h"
#include "summary/slow_code.h"
#include "summary/verdict_words.h"
#include "summary/where.h"

enum { MAX_CHAIN = 3 };

/* The place among the threads of W's holder of the one that RUN waits for so; their number: it
 * waits for none of them. */
static size_t place_of_holder(const struct judgement *s, const struct held_wait *w,
                              const struct run *run)
{
    const struct profile_thread *holder =
        held_wait_is(s, run, w->kinds) ? holders_thread(s->holders, run) : NULL;
    size_t i = 0;
    if (!holder || groups_of(s->g, holder) != w->holder)
        return w->holder->n;
    while (i < w->holder->n && w->holder->threads[i]->thread != holder)
        i++;
    return i;
}

/* What the threads of W's holder do while those of GROUP wait so for them, each for its own waiters
 * only: the others of a group may wait, too.  T borrows what is returned, for
 * release_tally_held(). */
static struct intervals *tally_held(const struct judgement *s, const struct thread_group *group,
                                    const struct held_wait *w, struct tally *ret)
{
    struct intervals *held = xcalloc(w->holder->n, sizeof *held);
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs && !t->n_folded; k++) {
            size_t at = place_of_holder(s, w, &t->runs[k]);
            if (at < w->holder->n)
                intervals_add_run(&held[at], &t->runs[k]);
        }
    }
    tally_init(ret, s->g->tree, TALLY_ALL);
    for (size_t i = 0; i < w->holder->n; i++) {
        intervals_unite(&held[i]);
        intervals_keep_exact(&held[i], s->p);
        if (held[i].n)
            tally_add(ret, w->holder->threads[i]->thread, held[i].items, held[i].n);
    }
    return held;
}

static void release_tally_held(struct intervals *held, const struct held_wait *w, struct tally *t)
{
    tally_release(t);
    for (size_t i = 0; i < w->holder->n; i++)
        intervals_release(&held[i]);
    free(held);
}

static void add_thing(const struct judgement *s, const struct held_wait *w, struct text *words)
{
    text_add(words, " for ");
    if (w->side.thing == THING_THREAD) {
        text_addf(words, "%s to end", w->holder->noun);
    } else {
        wait_side_add_thing(words, s->p, &w->side);
        text_addf(words, " held by %s", w->holder->noun);
    }
}

static void add_gone(const struct judgement *s, const struct held_wait *w, struct text *words)
{
    text_add(words, " for ");
    wait_side_add_thing(words, s->p, &w->gone);
    verdict_add_owner_gone(words, w->gone.blocker.tid);
}

/* From a wait to the one that ends it. */
struct held_facts {
    struct call_path path;
    struct held_wait links[MAX_CHAIN + 1]; /* each that of the one before's holder */
    size_t n;
    const struct thread_group *last; /* a holder; NULL: there is none, but one that is no thread */
    struct where where;              /* what LAST does then, if it waits for no thread; N 0 */
    double without_cpu;              /* of that time it waits for a CPU */
    struct kernel_side side;         /* for what it waits there */
};

/* The part of T's time in which its threads wait for a CPU. */
static double share_without_cpu(const struct tally *t)
{
    int64_t ns = 0;
    for (size_t i = 0; i < t->n_spans; i++)
        for (struct run_parts p = time_span_parts(&t->spans[i]); run_parts_next(&p);)
            ns += p.run->state == RUN_RUNNABLE ? p.when.end_ns - p.when.start_ns : 0;
    return share_of(ns, t->all_ns);
}

/* The holder's state meanwhile, and the threads that it waits for itself. */
static void find_chain(const struct judgement *s, const struct thread_group *group,
                       struct held_facts *facts)
{
    const struct thread_group *seen[MAX_CHAIN + 1] = {group};
    bool waits_on = true;
    while (waits_on) {
        const struct held_wait *here = &facts->links[facts->n - 1];
        struct tally t;
        struct intervals *held = tally_held(s, seen[facts->n - 1], here, &t);
        struct held_wait next = held_wait_in(s, &t, HELD_LOCKS | HELD_JOINS);
        bool explained = held_wait_is_explained(here->holder, &next) && next.ns > t.all_ns / 2;
        bool gone = explained && held_wait_is_gone(&next);
        waits_on = explained && next.holder && !gone;
        for (size_t i = 0; i < facts->n && waits_on; i++)
            waits_on = seen[i] != next.holder;
        waits_on &= facts->n < MAX_CHAIN;
        facts->last = here->holder;
        if (!gone && !waits_on && where_of(&t, &facts->where))
            facts->without_cpu = share_without_cpu(&t);
        release_tally_held(held, here, &t);
        seen[facts->n] = facts->last;
        if (gone || waits_on)
            facts->links[facts->n++] = next;
    }
    if (facts->where.node)
        facts->side = kernel_side_of(s, facts->last, facts->where.node);
}

/* " msghand has no CPU for 97% of that time: …": whoever has a lock then keeps it for longer. */
static void add_without_cpu(const struct held_facts *facts, struct text *words, struct finding *f)
{
    static const double mostly = 0.5;
    const struct thread_group *last = facts->last;
    if (facts->without_cpu < mostly || facts->links[facts->n - 1].side.thing == THING_THREAD)
        return;
    add_figure(f, "holder_without_cpu", facts->without_cpu);
    text_addf(words, " %s %s no CPU for ", last->noun, last->plural ? "have" : "has");
    add_percent(words, facts->without_cpu);
    text_addf(words,
              " of that time: fewer busy threads, or no lower priority than theirs, would let %s "
              "give the lock back.",
              last->plural ? "them" : "it");
}

/* ", which waits for a mutex held by b, which is then 94% in query > clock_nanosleep." */
static void add_chain(const struct judgement *s, const struct held_facts *facts, struct text *words,
                      struct finding *f)
{
    add_thing(s, &facts->links[0], words);
    for (size_t i = 1; i < facts->n; i++) {
        text_addf(words, ", which wait%s", verb_s(facts->links[i - 1].holder));
        if (held_wait_is_gone(&facts->links[i]))
            add_gone(s, &facts->links[i], words);
        else
            add_thing(s, &facts->links[i], words);
    }
    if (facts->where.n) {
        text_addf(words, ", which %s then ", facts->last->plural ? "are" : "is");
        where_add(s->g->tree, &facts->where, words);
        add_figure(f, "holder_share", where_share(&facts->where));
    }
    text_add(words, ".");
    add_without_cpu(facts, words, f);
    kernel_side_add(s, facts->last, &facts->side, words, f);
    (void)add_slow_code_of(s, facts->last, words, f);
}

/* Is RUN a wait for what W's holder has? */
static bool is_for_holder(const struct judgement *s, const struct run *run,
                          const struct held_wait *w)
{
    if (!held_wait_is(s, run, w->kinds))
        return false;
    const struct profile_thread *holder = holders_thread(s->holders, run);
    return holder && groups_of(s->g, holder) == w->holder;
}

/* " tunnel is woken 480 times a second in that wait: …": a mutex is handed to nobody, and the one
 * who releases it runs (pthread_mutex_lock(3), futex(2)). */
static void add_wakes(const struct judgement *s, const struct thread_group *group,
                      const struct held_wait *w, struct text *words, struct finding *f)
{
    static const double much = 0.5, often = 20; /* of its time; a second of a thread's waiting */
    uint64_t wakes = 0;
    int64_t ns = 0;
    if (w->side.thing != THING_MUTEX || w->holder->n_threads != 1 ||
        share_of(w->ns, group->wall_ns) < much)
        return;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs && !t->n_folded; k++) {
            bool is_for_it = is_for_holder(s, &t->runs[k], w);
            wakes += is_for_it ? t->runs[k].waits : 0;
            ns += is_for_it ? t->runs[k].weights.wall_ns : 0;
        }
    }
    const double per_s = (double)wakes * share_of(NS_PER_S, ns);
    if (per_s < often)
        return;
    add_figure(f, "wakes_per_s", per_s);
    text_addf(
        words,
        " %s %s woken %.0f times a second in that wait: %s gives the mutex up as often, and may "
        "take it again before a waiter runs. A fair lock, or a moment without it, lets others "
        "in.",
        group->noun, group->plural ? "are each" : "is", per_s, w->holder->noun);
}

static bool is_of_kinds(const struct call_tree *t, uint32_t node, const void *kinds)
{
    return *(const unsigned *)kinds >> call_tree_node(t, node).futex & 1;
}

void rule_held(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    const struct group_facts *about = facts_about(s, group);
    const struct held_wait *w = &about->held;
    struct held_facts facts = {.links = {*w}, .n = 1};
    f->share = share_of(w->ns, group->wall_ns);
    add_figure(f, "share", f->share);
    if (!about->holder_told ||
        !call_path_of_nodes(&group->tally, is_of_kinds, &w->kinds, &facts.path))
        return;
    if (!held_wait_is_gone(w)) {
        find_chain(s, group, &facts);
        f->blames = facts.side.other ? facts.side.other->noun : facts.last->noun;
        f->also = w->holder->noun;
    }
    f->unless = "stalls"; /* where that comes first, it tells of the same wait */
    add_figure(f, "held_part", share_of(max_i64(w->holder_ns, w->gone_ns), w->ns));
    finding_applies(f, &facts, sizeof facts);
}

void tell_held(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct held_facts *facts = f->facts;
    const struct held_wait *w = &facts->links[0];
    add_opening_part(f->group, "wait", f->share, share_of(facts->path.ns, f->group->wall_ns),
                     words);
    text_add(words, " ");
    add_place(words, &facts->path);
    text_add(words, ",");
    if (held_wait_is_gone(w)) {
        add_gone(s, w, words);
        text_add(words, ".");
        return;
    }
    add_chain(s, facts, words, f);
    add_wakes(s, f->group, w, words, f);
    add_meaning(s, facts->path.node, words);
}

void release_held(void *facts)
{
    struct held_facts *f = facts;
    call_path_release(&f->path);
    where_release(&f->where);
    kernel_side_release(&f->side);
}
