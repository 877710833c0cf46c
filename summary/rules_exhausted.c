/* The rule about alike threads that wait, within their work, for what a few of them have: a
 * connection, a permit, a buffer of a pool.
 *
 * No reader can tell who has it: a condition has no holder.  So it is told by the figures.  The
 * threads of a crew work in one function that something calls, again and again; some are in the
 * same wait below it, and about as many as ever are past that.  Idle workers look alike, but for
 * two things: they wait in the loop that hands out their work, which only starts them, and how many
 * work changes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "summary/crew.h"
#include "summary/heaviest_paths.h"
#include "summary/known.h"
#include "summary/meanwhile.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

enum { LEAST_THREADS = 3 };
static const double past_share = 0.05; /* of the crew's time */
static const double least_past = 0.8;  /* threads, on average: what is lost is past nobody */
static const double most_spread = 0.3; /* of the number past it, against chance */
static const double mostly = 0.8;      /* of the time past it */

/* By the call tree's nodes: what a thread there does. */
enum part { PART_OTHER, PART_WAIT, PART_PAST, PART_AGAIN };
struct parts {
    enum part *of; /* by node; owned */
    uint32_t wait; /* the user's function that waits; its heaviest node */
    bool lock;     /* for a lock, which its holder gives up: no loop hands work out by that */
    int64_t wait_ns, past_ns;
    bool again; /* who is past it waits there again */
};

/* ---- where it waits, and what is past that ---- */

/* Is NODE a wait for a lock that leaves no trace of its holder, as Rust's do? */
static bool is_nameless_lock(const struct crew *c, uint32_t node)
{
    const struct call_tree *tree = c->s->g->tree;
    if (call_tree_node(tree, node).futex != FUTEX_LOCK ||
        class_of_node(tree, node) != CLASS_ORDINARY || waits_for_libc(tree, node))
        return false;
    const struct thread_summary *t;
    for (size_t i = 0; (t = crew_next(c, &i));)
        for (size_t k = 0; k < t->thread->n_runs; k++) {
            const struct run *run = &t->thread->runs[k];
            if (run->state == RUN_BLOCKED && call_tree_of(c->s->g->tree, run->at) == node &&
                holders_side(c->s->holders, run->at)->thing)
                return false;
        }
    return true;
}

/* Processes share no condition, but in memory of their own making. */
static bool may_be_for_pool(const struct crew *c, uint32_t node)
{
    const struct call_tree *tree = c->s->g->tree;
    bool processes = c->group->threads[0]->thread->main;
    if (!processes && is_nameless_lock(c, node))
        return true;
    return is_unowned_wait(tree, node) &&
           !(processes && call_tree_node(tree, node).futex == FUTEX_CONDITION);
}

/* The node of the user's function that waits for longest, without an owner; 0: none. */
static uint32_t find_wait(struct crew *c)
{
    const struct call_tree *tree = c->s->g->tree;
    uint32_t best = 0;
    for (uint32_t node = 1; node <= call_tree_count(tree); node++)
        if (tally_self(&c->time, node) > (best ? tally_self(&c->time, best) : 0) &&
            may_be_for_pool(c, node) && call_tree_own(tree, node))
            best = node;
    return best;
}

/* Does something but the thread's start call NODE's function?  A native library's own function is
 * part of that, as QThread's. */
static bool is_called(const struct call_tree *tree, uint32_t node)
{
    for (node = call_tree_node(tree, node).parent; node; node = call_tree_node(tree, node).parent) {
        const struct call_node at = call_tree_node(tree, node);
        if (at.role == ROLE_OWN || at.frame->pool_loop ||
            (at.role == ROLE_LIBRARY && at.frame->kind == SHOWN_PYTHON))
            return true;
    }
    return false;
}

/* Sorts the nodes: within WORK's function, in the wait, which goes through FIRST's function there,
 * or past it, as what other functions of the user's do there.  WORK's own time is neither. */
static void sort_nodes(const struct call_tree *tree, uint32_t work, uint32_t first, struct parts *p)
{
    enum within { NOT_WITHIN, WITHIN, WITHIN_ANOTHER };
    const uint32_t work_key = call_tree_node(tree, work).key;
    const uint32_t first_key = call_tree_node(tree, first).key;
    enum within *within = xcalloc(call_tree_count(tree) + (size_t)1, sizeof *within);
    for (uint32_t node = 1; node <= call_tree_count(tree); node++) { /* a parent before its child */
        const struct call_node at = call_tree_node(tree, node);
        const bool of_work = at.key == work_key;
        within[node] = of_work ? WITHIN : within[at.parent];
        if (within[node] && !of_work && at.role == ROLE_OWN)
            within[node] = WITHIN_ANOTHER;
        p->of[node] = within[node] && !of_work && !at.idle ? PART_PAST : PART_OTHER;
        if ((within[at.parent] == WITHIN && at.key == first_key) || p->of[at.parent] == PART_WAIT)
            p->of[node] = PART_WAIT;
    }
    free(within);
}

static int64_t part_ns(struct tally *time, const struct parts *p, enum part part)
{
    int64_t ns = 0;
    for (uint32_t node = 1; node <= call_tree_count(time->tree); node++)
        ns += p->of[node] == part ? tally_self(time, node) : 0;
    return ns;
}

/* ---- who waits there again ---- */

/* The function that waits at NODE: the last one on the way that does not only lead there. */
static uint32_t waiting_key(const struct call_tree *tree, uint32_t node)
{
    struct call_node at = call_tree_node(tree, node);
    while (at.parent && (at.role == ROLE_GLUE || at.role == ROLE_LIBC))
        at = call_tree_node(tree, at.parent);
    return at.key;
}

/* The function that waits for the pool for longest; 0: none. */
static uint32_t pool_key(struct tally *time, const struct parts *p)
{
    uint32_t best = 0;
    for (uint32_t node = 1; node <= call_tree_count(time->tree); node++)
        if (p->of[node] == PART_WAIT && is_unowned_wait(time->tree, node) &&
            tally_self(time, node) > (best ? tally_self(time, best) : 0))
            best = node;
    return best ? waiting_key(time->tree, best) : 0;
}

/* Puts the nodes of PART FROM that wait in the pool's function, KEY, into TO. */
static void move_waits(const struct call_tree *tree, uint32_t key, enum part from, enum part to,
                       struct parts *p)
{
    for (uint32_t node = 1; node <= call_tree_count(tree) && key; node++)
        if (p->of[node] == from && is_unowned_wait(tree, node) && waiting_key(tree, node) == key)
            p->of[node] = to;
}

/* Who is past the wait, and mostly waits there again, has one of what the pool has, and needs
 * another.  Else that is the same wait. */
static void sort_again(struct tally *time, struct parts *p)
{
    uint32_t key = pool_key(time, p);
    move_waits(time->tree, key, PART_PAST, PART_AGAIN, p);
    int64_t again_ns = part_ns(time, p, PART_AGAIN);
    p->past_ns = part_ns(time, p, PART_PAST) + again_ns;
    p->again = share_of(again_ns, p->past_ns) >= mostly;
    move_waits(time->tree, key, PART_AGAIN, p->again ? PART_PAST : PART_WAIT, p);
    p->past_ns -= p->again ? 0 : again_ns;
    p->wait_ns = part_ns(time, p, PART_WAIT);
}

/* May the function of node WORK take what others wait for, and go on with it?  A library's may
 * BELOW the user's, as that which takes a connection from its pool and then asks; but those of
 * queues only take. */
static bool may_work(const struct call_tree *tree, uint32_t work, bool below)
{
    const struct call_node at = call_tree_node(tree, work);
    if (at.role == ROLE_OWN)
        return true;
    return below && at.role == ROLE_LIBRARY && at.frame->kind == SHOWN_PYTHON && at.frame->file &&
           !known_row_of(at.frame, KNOWN_TAKES);
}

/* The function that the waits and what is past them have in common: the innermost that calls
 * both. */
static bool find_parts(struct crew *c, struct parts *p)
{
    const struct call_tree *tree = c->s->g->tree;
    uint32_t first;
    uint32_t work = find_wait(c);
    p->wait = call_tree_own(tree, work);
    p->lock = call_tree_node(tree, work).futex == FUTEX_LOCK;
    p->past_ns = 0;
    while (work && share_of(p->past_ns, c->wall_ns) < past_share) {
        do {
            first = work;
            work = call_tree_node(tree, first).parent;
        } while (work && !may_work(tree, work, work > p->wait)); /* a child comes later */
        if (work) {
            sort_nodes(tree, work, first, p);
            sort_again(&c->time, p);
        }
    }
    bool hands_out = !p->lock && !(is_called(tree, work) && is_called(tree, p->wait));
    return work && !hands_out && share_of(p->wait_ns, c->wall_ns) >= worth_telling;
}

/* ---- how many are past it ---- */

/* Does RUN wait for whoever comes, as a server's thread for its client?  It has nothing that others
 * wait for. */
static bool is_for_anybody(const struct crew *c, const struct run *run)
{
    static const unsigned anybody = 1U << BLOCKER_LISTENER | 1U << BLOCKER_CLIENT;
    return run->state == RUN_BLOCKED && holders_is_for(c->s->holders, run->at, anybody);
}

/* When THREAD is in PART. */
static struct intervals times_in(const struct crew *c, const struct parts *p, enum part part,
                                 const struct profile_thread *thread)
{
    struct intervals times = {0};
    for (size_t k = 0; k < thread->n_runs; k++) {
        const struct run *run = &thread->runs[k];
        bool in = p->of[call_tree_of(c->s->g->tree, run->at)] == part;
        if (in && !(part == PART_PAST && is_for_anybody(c, run)))
            intervals_join(&times, interval_of_run(run));
    }
    return times;
}

/* How long C's threads are past the wait, summed. */
static int64_t past_ns_of(const struct crew *c, const struct parts *p)
{
    int64_t ns = 0;
    const struct thread_summary *t;
    for (size_t i = 0; (t = crew_next(c, &i));) {
        struct intervals times = times_in(c, p, PART_PAST, t->thread);
        ns += intervals_ns(&times);
        intervals_release(&times);
    }
    return ns;
}

/* When a thread of C goes past the wait, and back; the caller releases them. */
static struct crew_changes list_changes(const struct crew *c, const struct parts *p)
{
    struct crew_changes ret = {.n = 0};
    const struct thread_summary *t;
    for (size_t i = 0; (t = crew_next(c, &i));) {
        struct intervals times = times_in(c, p, PART_PAST, t->thread);
        crew_changes_add(&ret, &times);
        intervals_release(&times);
    }
    crew_changes_sort(&ret);
    return ret;
}

/* How much the number of threads past the wait varies, MEAN on average: its variance, of that which
 * it had if each were there by chance.  A limit keeps it near 0; work that comes as it likes makes
 * it 1 or more. */
static double spread_of(const struct crew *c, const struct parts *p, double mean)
{
    struct crew_changes changes = list_changes(c, p);
    const size_t n = changes.n;
    double sum = 0;
    int past = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        past += changes.items[i].by;
        sum +=
            (past - mean) * (past - mean) * (double)(changes.items[i + 1].ns - changes.items[i].ns);
    }
    int64_t over_ns = n ? changes.items[n - 1].ns - changes.items[0].ns : 0;
    crew_changes_release(&changes);
    double by_chance = mean * (1 - mean / crew_alive(c));
    return over_ns > 0 && by_chance > 0 ? sum / (double)over_ns / by_chance : 1;
}

/* ---- who waits ---- */

/* The group of C's that is in PART for longest. */
static struct thread_group *group_in(const struct crew *c, const struct parts *p, enum part part)
{
    struct thread_group *best = c->group;
    int64_t most_ns = 0;
    for (struct thread_group *g = c->group; g < c->s->g->items + c->s->g->n; g++) {
        int64_t ns = 0;
        if (g->mixed || g->idle || !crew_has(c, g->threads[0]))
            continue;
        for (uint32_t node = 1; node <= call_tree_count(c->s->g->tree); node++)
            ns += p->of[node] == part ? tally_self(&g->tally, node) : 0;
        best = ns > most_ns ? g : best;
        most_ns = ns > most_ns ? ns : most_ns;
    }
    return best;
}

/* Does another crew's group work while GROUP waits, and no other does?  That is who keeps it. */
static bool others_keep(const struct crew *c, const struct parts *p,
                        const struct thread_group *group)
{
    struct intervals waits = times_in(c, p, PART_WAIT, group->threads[0]->thread);
    const struct thread_group *busy = meanwhile_of(c->s->g, group, BUSY_WORK, &waits).busy;
    intervals_release(&waits);
    return busy && !crew_has(c, busy->threads[0]);
}

/* ---- words ---- */

/* LEAD and "get_connection db.py:15 > condition": where C is for longest in PART. */
static void add_way_in(const struct crew *c, const struct parts *p, enum part part,
                       const char *lead, struct text *words)
{
    struct intervals *times = xcalloc(c->n, sizeof *times); /* the tally borrows them */
    struct tally sum;
    struct call_path path;
    const struct thread_summary *t;
    tally_init(&sum, c->s->g->tree, TALLY_ALL);
    for (size_t i = 0, k = 0; (t = crew_next(c, &i)); k++) {
        times[k] = times_in(c, p, part, t->thread);
        if (times[k].n)
            tally_add(&sum, t->thread, times[k].items, times[k].n);
    }
    if (call_paths_heaviest(&sum, &path, 1)) {
        text_add(words, lead);
        add_way(words, &path);
        call_path_release(&path);
    }
    tally_release(&sum);
    for (size_t k = 0; k < c->n; k++)
        intervals_release(&times[k]);
    free(times);
}

/* ---- the rule ---- */

/* A crew, and how many of it are where. */
struct exhausted_facts {
    struct crew crew;
    struct parts parts;
    double waiting, past; /* threads, on average */
    double share, spread;
    bool told; /* it is so */
};

/* Whether it is so of C is kept in BEST, with C, if that is more so than of BEST's.  Returns it. */
static bool judge(struct crew *c, struct exhausted_facts *best)
{
    struct exhausted_facts e = {
        .parts.of = xcalloc(call_tree_count(c->s->g->tree) + (size_t)1, sizeof *e.parts.of)};
    bool found = find_parts(c, &e.parts);
    int64_t life_ns = c->end_ns - c->start_ns;
    if (found) {
        e.waiting = share_of(e.parts.wait_ns, life_ns);
        e.past = share_of(past_ns_of(c, &e.parts), life_ns);
        e.share = share_of(e.parts.wait_ns, c->wall_ns);
        e.spread = spread_of(c, &e.parts, e.past);
        e.told = e.past >= least_past && e.spread <= most_spread &&
                 !others_keep(c, &e.parts, group_in(c, &e.parts, PART_WAIT));
    }
    bool better = found && (e.told == best->told ? e.share > best->share : e.told);
    if (better) {
        e.crew = *c;
        *c = (struct crew){.s = c->s, .wider = c->wider};
    }
    struct exhausted_facts worse = better ? *best : e;
    *best = better ? e : *best;
    release_exhausted(&worse);
    return e.told;
}

/* Whoever waits in the same function may need the same; or, those of one name alone. */
static void judge_group(const struct judgement *s, struct thread_group *group,
                        struct exhausted_facts *best)
{
    bool told = false;
    for (int wide = 1; wide >= 0 && !told; wide--) {
        struct crew crew;
        if (crew_make(s, group, LEAST_THREADS, &crew)) {
            if (wide)
                crew_widen(&crew, call_path_own_key(s->g->tree, find_wait(&crew)));
            told = judge(&crew, best) || (wide && !crew.wider);
        }
        crew_release(&crew);
    }
}

void rule_exhausted(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    (void)group;
    if (profile_time_step_ns(s->p) > 0) /* how many are past it at a time is unknown from here on */
        return;
    struct exhausted_facts best = {.told = false};
    for (size_t i = 0; i < s->g->n; i++)
        judge_group(s, &s->g->items[i], &best);
    if (!best.crew.group)
        return;
    const struct thread_group *waits = group_in(&best.crew, &best.parts, PART_WAIT);
    const struct thread_group *past_it = group_in(&best.crew, &best.parts, PART_PAST);
    add_figure(f, "share", best.share);
    add_figure(f, "threads_past", best.past);
    add_figure(f, "spread", best.spread);
    f->share = best.share;
    f->about = waits->noun;
    f->also = past_it == waits ? NULL : past_it->noun;
    if (best.told)
        finding_applies(f, &best, sizeof best);
    else
        release_exhausted(&best);
}

/* "On average 6.0 of 8 handler threads wait in get_connection db.py:15 > condition, and 2.0 are
 * past that, in …" */
void tell_exhausted(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct exhausted_facts *e = f->facts;
    (void)s;
    text_addf(words, "On average %.1f of %.0f ", e->waiting, crew_alive(&e->crew));
    crew_add_name(&e->crew, words);
    text_add(words, " wait");
    add_way_in(&e->crew, &e->parts, PART_WAIT, " in ", words);
    text_addf(words, ", and %.1f %s past that", e->past, e->past < 1.05 ? "is" : "are");
    add_way_in(&e->crew, &e->parts, PART_PAST, ", in ", words);
    if (e->parts.again)
        text_addf(words,
                  ". %s one of what all wait for, and waits there for another: release the first "
                  "one before, or take no second.",
                  e->past < 1.05 ? "It has" : "Each of them has");
    else if (e->parts.lock)
        text_add(words, ": who has the lock keeps the others from it. Give it up sooner.");
    else
        text_add(words, ". Either their pool (connections, buffers) is too small: release sooner, "
                        "or enlarge it. Or the rest gets no work.");
}

void release_exhausted(void *facts)
{
    struct exhausted_facts *e = facts;
    crew_release(&e->crew);
    free(e->parts.of);
}
