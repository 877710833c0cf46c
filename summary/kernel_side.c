#include "summary/kernel_side.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "summary/rule_classes.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"
#include "summary/wait_text.h"
#include "summary/waits_at.h"

static const double most_of_it = 0.8;
static const double least_known = 0.2; /* of the waits: chance chose which were read */
static const double named_part = 0.5;  /* of the waits for an address: then its process is told */
enum { MAX_SIDES = 16 };

/* The other sides of the runs that end in one node. */
struct sides {
    struct side_sum items[MAX_SIDES];
    char *what[MAX_SIDES]; /* two that read the same are one */
    size_t n;
    int64_t ns;
    struct map of_wait; /* index into ITEMS */
};

/* A program that starts one child after the other waits for its children; which, is no news. */
static size_t index_of(const struct judgement *s, struct sides *all, const struct wait_side *side)
{
    struct text what = {0};
    size_t i = 0;
    text_addf(&what, "%d %d ", (int)side->thing, (int)side->blocker.kind);
    wait_side_add_what(&what, s->p, side, false);
    while (i < all->n && !str_eq(all->what[i], what.s))
        i++;
    if (i < all->n || i == MAX_SIDES) {
        text_release(&what);
        return i;
    }
    all->items[all->n] = (struct side_sum){.side = *side};
    all->what[all->n++] = what.s;
    return i;
}

static struct side_sum *sum_of(const struct judgement *s, struct sides *all, wait_id wait,
                               const struct wait_side *side)
{
    uint64_t i;
    if (!map_get(&all->of_wait, wait.ix, &i)) {
        i = index_of(s, all, side);
        map_put(&all->of_wait, wait.ix, i);
    }
    return i < MAX_SIDES ? &all->items[i] : NULL;
}

/* Of T's wait in RUN the last part: of several who had the other end one may be left by then, and
 * it was for that one all the time. */
static struct spot at_last(const struct judgement *s, const struct profile_thread *t,
                           const struct run *run)
{
    enum { MOST_PARTS = 64 };
    const struct run *last = &t->runs[t->n_runs - 1];
    for (int i = 0; i < MOST_PARTS && run < last && !run->waits &&
                    holders_side(s->holders, run->at)->blocker.kind == BLOCKER_SEVERAL;
         i++, run++)
        if (run[1].state != RUN_BLOCKED || run[1].at.stack.ix != run->at.stack.ix ||
            run[1].start_ns != run_end_ns(run))
            break;
    return run->at;
}

static void add_run(const struct judgement *s, const struct profile_thread *t,
                    const struct run *run, struct sides *all)
{
    const struct spot at = at_last(s, t, run);
    const struct wait_side *side = holders_side(s->holders, at);
    all->ns += run->weights.wall_ns;
    struct side_sum *sum = wait_side_is_kernels(side->thing) || blocker_is_process(&side->blocker)
                               ? sum_of(s, all, at.wait, side)
                               : NULL;
    if (!sum)
        return;
    if (!sum->side.blocker.pid) /* at first maybe only the address is known */
        sum->side = *side;
    if (side->blocker.pid) {
        sum->many |= sum->side.blocker.pid != side->blocker.pid;
        sum->mixed |= sum->side.blocker.name.ix != side->blocker.name.ix;
        sum->named_ns += run->weights.wall_ns;
    }
    sum->waiter = profile_see_process(s->p, t->process)->pid;
    sum->ns += run->weights.wall_ns;
}

static void release_sides(struct sides *all)
{
    for (size_t i = 0; i < all->n; i++)
        free(all->what[i]);
    map_release(&all->of_wait);
}

/* Is the process at S's address unknown for most of the time, or not always the same program? */
static bool has_no_process(const struct side_sum *s)
{
    const struct blocker *b = &s->side.blocker;
    bool address = b->kind == BLOCKER_PEER || b->kind == BLOCKER_CLIENT;
    return address && (s->mixed || share_of(s->named_ns, s->ns) < named_part);
}

/* The side that most of the waits are for, as far as they were read; NULL: none was. */
static struct side_sum *most_of(struct sides *all)
{
    struct side_sum *best = NULL;
    for (size_t i = 0; i < all->n; i++)
        best = !best || all->items[i].ns > best->ns ? &all->items[i] : best;
    return best;
}

/* The same, if enough of them are for it. */
static const struct side_sum *heaviest(struct sides *all)
{
    struct side_sum *best = most_of(all);
    int64_t known_ns = 0;
    for (size_t i = 0; i < all->n; i++)
        known_ns += all->items[i].ns;
    if (best && has_no_process(best))
        best->side.blocker.pid = 0;
    bool enough = best && (double)best->ns >= most_of_it * (double)known_ns &&
                  share_of(known_ns, all->ns) >= least_known;
    return enough ? best : NULL;
}

/* ", known for 30% of these waits": where only a part was read; of that the part whose process is
 * known, if one is named. */
static void add_known_part(const struct side_sum *sum, int64_t all_ns, struct text *words)
{
    if (share_of(sum->ns, all_ns) >= most_of_it - 0.01) /* "80%" is said of less, too */
        return;
    text_add(words, ", known for ");
    add_percent(words, share_of(sum->side.blocker.pid ? sum->named_ns : sum->ns, all_ns));
    text_add(words, " of these waits");
}

/* "its children (convert)" */
static void add_many(const struct judgement *s, const struct side_sum *sum, struct text *words)
{
    const char *name = profile_text(s->p, sum->side.blocker.name);
    const char *what = sum->side.thing == THING_CHILD       ? "children"
                       : sum->side.thing == THING_FILE_LOCK ? "a file's lock, held by processes"
                       : sum->side.blocker.kind == BLOCKER_SHARED ? "a lock that processes share"
                                                                  : "processes at the other end";
    text_addf(words, "%s (%s)", what, name);
}

/* Adds BEFORE and the command that shows SUM's waiter and process PID, if PID is not recorded. */
static void add_both(const struct judgement *s, const struct side_sum *sum, pid_t pid,
                     const char *before, struct text *words)
{
    if (pid && !profile_find_process(s->p, pid).ix && rule_goes_on(s->p, sum->waiter))
        text_addf(words, "%s wallspy -p %d,%d shows both", before, sum->waiter, pid);
}

/* How to see what the other process does.  A child is seen with -s, which other findings say. */
static void add_way_to_see(const struct judgement *s, const struct side_sum *sum,
                           struct text *words)
{
    const struct blocker *b = &sum->side.blocker;
    size_t len = words->len;
    if (sum->side.thing != THING_CHILD && b->fate == FATE_GOES_ON)
        add_both(s, sum, b->pid, "", words);
    text_add(words, words->len > len ? "." : "");
}

/* Adds who is at the other end, and how to see it; ends the sentence. */
static void add_other_side(const struct judgement *s, const struct side_sum *sum, int64_t all_ns,
                           struct text *words)
{
    const struct blocker *b = &sum->side.blocker;
    bool process = blocker_is_process(b);
    bool many = sum->many && process;
    bool several = b->kind == BLOCKER_SEVERAL; /* the first of them are named */
    if (many)
        add_many(s, sum, words);
    else
        wait_side_add_text(words, s->p, &sum->side, sum->waiter, several);
    add_known_part(sum, all_ns, words);
    text_add(words, ".");
    if (process && !many && b->fd)
        text_add(words, " If it only inherited that, open the pipe with O_CLOEXEC (pipe(2)).");
    if (process && !many)
        add_way_to_see(s, sum, words);
}

/* The address that SIDE is for, and no other but the process's own ends; NULL: there is none. */
static const struct blocker *only_address(const struct profile *p, const struct wait_side *side)
{
    const struct listed_blocker *first = profile_see_blocker(p, side->list);
    if (side->thing != THING_EVENTS)
        return &side->blocker;
    const struct listed_blocker *next = first ? profile_see_blocker(p, first->next) : NULL;
    return first && !next && !side->more ? &first->blocker : NULL;
}

/* Who listens at SUM's address, where nobody was found at the other end; NULL: nobody. */
static const struct listener *listener_of(const struct judgement *s, const struct side_sum *sum)
{
    const struct blocker *b = only_address(s->p, &sum->side);
    return b && !b->pid ? profile_listener(s->p, b) : NULL;
}

/* " 4711 (postgres) listens on port 5432." */
static void add_listener(const struct judgement *s, const struct side_sum *sum,
                         const struct listener *l, struct text *words)
{
    text_addf(words, " %d (%s) ", l->pid, profile_text(s->p, l->name));
    if (l->n > 1)
        text_addf(words, "and %u other%s listen", l->n - 1, l->n > 2 ? "s" : "");
    else
        text_add(words, "listens");
    text_addf(words, " on port %u", l->port);
    add_both(s, sum, l->pid, ":", words);
    text_add(words, ".");
}

/* kernel_side_of(), but for what the other one does. */
static struct kernel_side find_side(const struct judgement *s, const struct thread_group *group,
                                    uint32_t node, bool named)
{
    struct kernel_side ret = {.told = false};
    struct sides all = {.n = 0};
    for (struct waits_at w = waits_at(s, group, node); waits_at_next(&w);)
        add_run(s, w.thread, w.run, &all);
    const struct side_sum *sum = heaviest(&all);
    /* A remote end's address is in the wait's name. */
    bool process = sum && blocker_is_process(&sum->side.blocker);
    ret.told = sum && wait_side_is_told(&sum->side) &&
               (process || !named || sum->side.thing != THING_SOCKET);
    const struct side_sum *there = ret.told || named ? most_of(&all) : NULL; /* its call is named */
    if (there) {
        ret.sum = *there;
        ret.all_ns = all.ns;
        ret.listener = listener_of(s, there);
    }
    release_sides(&all);
    return ret;
}

static bool is_known(const struct kernel_side *side)
{
    return side->told || side->listener;
}

static void add_side(const struct judgement *s, const struct thread_group *group,
                     const struct kernel_side *side, struct text *words, struct finding *f)
{
    if (side->told) {
        text_addf(words, " %s wait%s for ", group->plural ? "They" : "It", verb_s(group));
        add_other_side(s, &side->sum, side->all_ns, words);
        add_figure(f, "other_side_part", share_of(side->sum.ns, side->all_ns));
    }
    if (side->listener)
        add_listener(s, &side->sum, side->listener, words);
}

bool add_kernel_side(const struct judgement *s, const struct thread_group *group, uint32_t node,
                     bool named, struct text *words, struct finding *f)
{
    const struct kernel_side side = find_side(s, group, node, named);
    add_side(s, group, &side, words, f);
    return is_known(&side);
}

/* Sums up whom GROUP waits for at the other ends of connections, IDLE: while it polls for work.
 * Returns the heaviest, if that is much of all these waits. */
static const struct side_sum *peer_of(const struct judgement *s, const struct thread_group *group,
                                      bool idle, struct sides *all)
{
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++) {
            const struct run *run = &t->runs[k];
            if (run->state != RUN_BLOCKED || (idle && class_of_run(s->g->tree, run) != CLASS_IDLE))
                continue;
            if (holders_is_for(s->holders, run->at, 1U << BLOCKER_PEER))
                add_run(s, t, run, all);
            else
                all->ns += run->weights.wall_ns;
        }
    }
    const struct side_sum *sum = heaviest(all);
    return sum && share_of(sum->ns, all->ns) >= named_part ? sum : NULL;
}

/* "127.0.0.1:5432 of 4711 (postgres): wallspy -p 12,4711 shows both." */
static void add_peer(const struct judgement *s, const struct side_sum *sum, struct text *words)
{
    const struct blocker *b = only_address(s->p, &sum->side);
    wait_side_add_what(words, s->p, &sum->side, false);
    add_both(s, sum, b ? b->pid : 0, ":", words);
    text_add(words, ".");
    const struct listener *listener = listener_of(s, sum);
    if (listener)
        add_listener(s, sum, listener, words);
}

void add_loops_answer(const struct judgement *s, const struct thread_group *group,
                      struct text *words)
{
    struct sides all = {.n = 0};
    const struct side_sum *sum = peer_of(s, group, true, &all);
    if (sum) {
        text_addf(words, " When idle %s wait%s for ", group->plural ? "they" : "it", verb_s(group));
        add_peer(s, sum, words);
    }
    release_sides(&all);
}

/* Does GROUP poll at NODE for nothing but what its own process wakes it by? */
static bool is_woken_inside(const struct judgement *s, const struct thread_group *group,
                            uint32_t node)
{
    int64_t own_ns = 0;
    int64_t all_ns = 0;
    for (struct waits_at w = waits_at(s, group, node); waits_at_next(&w);) {
        bool own = holders_is_for(s->holders, w.run->at, 1U << BLOCKER_ITSELF);
        own_ns += own ? w.run->weights.wall_ns : 0;
        all_ns += w.run->weights.wall_ns;
    }
    return share_of(own_ns, all_ns) >= named_part;
}

/* When GROUP waits for whom KINDS, 1 << enum blocker_kind, have: at least one thread of it. */
static struct intervals times_for(const struct judgement *s, const struct thread_group *group,
                                  unsigned kinds)
{
    struct intervals ret = {.n = 0};
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs && !t->n_folded; k++)
            if (t->runs[k].state == RUN_BLOCKED && holders_is_for(s->holders, t->runs[k].at, kinds))
                intervals_add_run(&ret, &t->runs[k]);
    }
    return ret;
}

/* Does OTHER, of GROUP's process, wait for the other end of one connection for most of its time,
 * and of WAITS, GROUP's? */
static bool asks_for(const struct judgement *s, const struct thread_group *group,
                     const struct intervals *waits, const struct thread_group *other)
{
    struct sides all = {.n = 0};
    if (other == group || other->mixed ||
        other->threads[0]->thread->process.ix != group->threads[0]->thread->process.ix)
        return false;
    const struct side_sum *sum = peer_of(s, other, false, &all);
    bool asks = sum && share_of(sum->ns, other->wall_ns) >= named_part;
    release_sides(&all);
    if (!asks)
        return false;
    struct intervals times = times_for(s, other, 1U << BLOCKER_PEER);
    intervals_unite(&times);
    asks = share_of(intervals_both_ns(waits, &times), intervals_ns(waits)) >= named_part;
    intervals_release(&times);
    return asks;
}

/* The only group that asks another process while GROUP waits at NODE; NULL: there is none. */
static const struct thread_group *who_asks(const struct judgement *s,
                                           const struct thread_group *group, uint32_t node)
{
    const struct thread_group *found = NULL;
    size_t n = 0;
    struct intervals waits = {.n = 0};
    for (struct waits_at w = waits_at(s, group, node); waits_at_next(&w);)
        if (!w.thread->n_folded)
            intervals_add_run(&waits, w.run);
    intervals_unite(&waits);
    intervals_keep_exact(&waits, s->p);
    for (size_t i = 0; i < s->g->n; i++)
        if (asks_for(s, group, &waits, &s->g->items[i])) {
            found = &s->g->items[i];
            n++;
        }
    intervals_release(&waits);
    return n == 1 ? found : NULL;
}

const struct thread_group *go_between_of(const struct judgement *s,
                                         const struct thread_group *group, uint32_t node)
{
    bool inside = is_unowned_wait(s->g->tree, node) || is_woken_inside(s, group, node);
    return inside ? who_asks(s, group, node) : NULL;
}

void add_go_between(const struct judgement *s, const struct thread_group *found, struct text *words)
{
    struct sides all = {.n = 0};
    if (!found)
        return;
    text_addf(words, " Meanwhile %s wait%s for ", found->noun, verb_s(found));
    add_peer(s, peer_of(s, found, false, &all), words);
    release_sides(&all);
}

/* Whom waits are for, as far as that is known. */
struct partner {
    struct thread_group *group; /* for most of the time; NULL: nobody's */
    bool one;                   /* a single thread of it, or all of it, and nobody else */
};
struct partner_sums {
    const struct profile_thread *thread; /* the last one */
    bool several;
    int64_t ns, known_ns;
    int64_t *by_group; /* of KNOWN_NS */
};

/* The alike processes, all of them recorded, that are at the other end of RUN's wait, beside its
 * own, OWN: the workers that write into one pipe.  NULL: it is not so. */
static struct thread_group *several_of(const struct judgement *s, const struct run *run, pid_t own)
{
    const struct wait_side *side = run->at.wait.ix ? holders_side(s->holders, run->at) : NULL;
    struct thread_group *found = NULL;
    if (!side || side->blocker.kind != BLOCKER_SEVERAL)
        return NULL;
    const struct listed_blocker *one = profile_see_blocker(s->p, side->list);
    for (; one; one = profile_see_blocker(s->p, one->next)) {
        if (one->blocker.pid == own)
            continue;
        const struct profile_thread *main = holders_main(s->holders, one->blocker.pid, run);
        struct thread_group *group = main ? groups_of(s->g, main) : NULL;
        if (!group || (found && found != group))
            return NULL;
        found = group;
    }
    return found;
}

static void add_partner_of(const struct judgement *s, const struct run *run, pid_t own,
                           struct partner_sums *sums)
{
    bool chosen;
    const struct profile_thread *who = holders_follow(s->holders, run, &chosen);
    struct thread_group *group = who ? groups_of(s->g, who) : several_of(s, run, own);
    sums->ns += run->weights.wall_ns;
    sums->known_ns += who || group ? run->weights.wall_ns : 0;
    sums->several |= who && sums->thread && who != sums->thread;
    sums->thread = who ? who : sums->thread;
    if (group)
        sums->by_group[group - s->g->items] += run->weights.wall_ns;
}

static struct partner partner_of_sums(const struct judgement *s, const struct partner_sums *sums)
{
    size_t best = 0;
    for (size_t i = 1; i < s->g->n; i++)
        best = sums->by_group[i] > sums->by_group[best] ? i : best;
    bool is_one = !sums->several && share_of(sums->known_ns, sums->ns) >= named_part;
    bool most = share_of(sums->by_group[best], sums->ns) >= named_part;
    return (struct partner){.group = most ? &s->g->items[best] : NULL, .one = is_one};
}

/* Whom the waits at NODE of GROUP are for.  The caller releases the waits. */
static struct partner partner_of(const struct judgement *s, const struct thread_group *group,
                                 uint32_t node, struct intervals *ret_waits)
{
    struct partner_sums sums = {.by_group = xcalloc(s->g->n, sizeof(int64_t))};
    for (struct waits_at w = waits_at(s, group, node); waits_at_next(&w);) {
        add_partner_of(s, w.run, profile_see_process(s->p, w.thread->process)->pid, &sums);
        if (!w.thread->n_folded)
            intervals_add_run(ret_waits, w.run);
    }
    intervals_unite(ret_waits);
    intervals_keep_exact(ret_waits, s->p);
    const struct partner ret = partner_of_sums(s, &sums);
    free(sums.by_group);
    return ret;
}

/* Sets of SIDE what the other one does while GROUP waits at NODE. */
static void find_what_it_does(const struct judgement *s, const struct thread_group *group,
                              uint32_t node, struct kernel_side *side)
{
    const struct partner other = partner_of(s, group, node, &side->waits);
    if (!side->waits.n || !other.group || other.group == group || other.group->mixed ||
        other.group->threads[0]->thread->process.ix == group->threads[0]->thread->process.ix)
        return;
    side->mutual = mutual_of(s, group, other.group, &side->waits);
    if (other.one)
        side->other = side->mutual.group ? side->mutual.group : other.group;
}

struct kernel_side kernel_side_of(const struct judgement *s, const struct thread_group *group,
                                  uint32_t node)
{
    struct kernel_side ret = find_side(s, group, node, true);
    if (is_known(&ret))
        find_what_it_does(s, group, node, &ret);
    return ret;
}

static void add_what(const struct judgement *s, const struct kernel_side *side, struct text *words,
                     struct finding *f)
{
    if (side->other)
        (void)add_meanwhile(s, side->other, &side->waits, words, f);
    if (side->mutual.group)
        add_mutual(&side->mutual, words);
}

void kernel_side_add(const struct judgement *s, const struct thread_group *group,
                     const struct kernel_side *side, struct text *words, struct finding *f)
{
    add_side(s, group, side, words, f);
    add_what(s, side, words, f);
}

void kernel_side_release(struct kernel_side *side)
{
    intervals_release(&side->waits);
}

/* Is who has what RUN of GROUP waits for known, and none of GROUP? */
static bool is_held_elsewhere(const struct judgement *s, const struct thread_group *group,
                              const struct run *run)
{
    bool chosen;
    const struct profile_thread *holder = holders_follow(s->holders, run, &chosen);
    return holder && groups_of(s->g, holder) != group;
}

/* What part of GROUP's waits at NODE is OPEN, and for nobody else? */
static double waits_while(const struct judgement *s, const struct thread_group *group,
                          uint32_t node, const struct intervals *open)
{
    struct intervals waits = {.n = 0}; /* of one thread */
    int64_t open_ns = 0;
    int64_t all_ns = 0;
    const struct profile_thread *of = NULL;
    for (struct waits_at w = waits_at(s, group, node); waits_at_next(&w); of = w.thread) {
        if (!of || w.thread != of) {
            open_ns += intervals_both_ns(&waits, open);
            waits.n = 0;
        }
        if (!is_held_elsewhere(s, group, w.run) && !w.thread->n_folded)
            intervals_add_run(&waits, w.run);
        all_ns += w.run->weights.wall_ns;
    }
    open_ns += intervals_both_ns(&waits, open);
    intervals_release(&waits);
    return share_of(open_ns, all_ns);
}

void add_turns_to_serve(const struct judgement *s, const struct thread_group *group, uint32_t node,
                        struct text *words)
{
    if (group->n < 2 || !is_for_lock(s->g->tree, node))
        return;
    struct intervals open = times_for(s, group, 1U << BLOCKER_LISTENER);
    int64_t each_ns = intervals_ns(&open);
    intervals_unite(&open);
    bool one_at_a_time = share_of(intervals_ns(&open), each_ns) >= most_of_it;
    if (one_at_a_time && waits_while(s, group, node, &open) >= most_of_it)
        text_add(words, " Meanwhile one of them waits for whoever connects: they take turns to do "
                        "so, and are idle.");
    intervals_release(&open);
}
