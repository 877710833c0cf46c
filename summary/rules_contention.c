/* The rule about a lock that several threads hold in turn, while others wait for it.  Of one that a
 * single thread holds rules_held.c tells. */
#include "summary/group_facts.h"
#include "summary/heaviest_paths.h"
#include "summary/kernel_side.h"
#include "summary/rule_words.h"

static const double one_lock_part = 0.7; /* of the waits for locks */
static const double in_turn_part = 0.9;  /* a single holder has less of those that were read */
static const double read_part = 0.99;    /* of the waits: then all holders are known */
static const double telling_part = 0.2;  /* of the waits: then a single holder is known as such */
static const double same_part = 0.5;     /* of the holders' time: what they do with the lock */
enum { MOST_PLACES = 64, MOST_HOLDERS = 64, LEAST_SAMPLES = 4 };

/* The waits of a group at one place for one lock, of the process PID that waits. */
struct place {
    struct wait_side side; /* with a holder, if it was ever read */
    pid_t pid;
    uint32_t node;
    int64_t ns;
};
struct contention {
    int64_t ns;      /* for any lock */
    int64_t lock_ns; /* of that, for the one that is waited for longest */
    int64_t read_ns; /* of that, with a holder that is among HOLDERS */
    struct place places[MOST_PLACES];
    size_t n_places;
    struct {
        const struct profile_thread *thread;
        int64_t ns;
    } holders[MOST_HOLDERS];
    size_t n_holders;
};

static bool is_lock(const struct wait_side *side)
{
    return side->addr && side->blocker.kind != BLOCKER_GONE &&
           (side->thing == THING_MUTEX || side->thing == THING_RWLOCK ||
            side->thing == THING_PY_LOCK);
}

static bool is_same_lock(const struct place *a, const struct place *b)
{
    return a->pid == b->pid && a->side.addr == b->side.addr;
}

static void add_wait(struct contention *c, const struct place *wait)
{
    size_t at = 0;
    while (at < c->n_places &&
           !(c->places[at].node == wait->node && is_same_lock(&c->places[at], wait)))
        at++;
    if (at == MOST_PLACES)
        return;
    if (at == c->n_places)
        c->places[c->n_places++] = (struct place){wait->side, wait->pid, wait->node, 0};
    if (wait->side.blocker.kind)
        c->places[at].side = wait->side;
    c->places[at].ns += wait->ns;
}

static void add_holder(struct contention *c, const struct profile_thread *holder, int64_t ns)
{
    size_t at = 0;
    while (at < c->n_holders && c->holders[at].thread != holder)
        at++;
    if (!holder || at == MOST_HOLDERS)
        return;
    c->n_holders += at == c->n_holders;
    c->holders[at].thread = holder;
    c->holders[at].ns += ns;
    c->read_ns += ns;
}

static pid_t pid_of(const struct judgement *s, const struct profile_thread *t)
{
    return profile_see_process(s->p, t->process)->pid;
}

static void add_run(const struct judgement *s, struct contention *c, const struct profile_thread *t,
                    const struct run *run)
{
    const struct wait_side *side = run->at.wait.ix ? holders_side(s->holders, run->at) : NULL;
    if (run->state != RUN_BLOCKED || !side || !is_lock(side))
        return;
    struct place wait = {*side, pid_of(s, t), call_tree_of(s->g->tree, run->at),
                         run->weights.wall_ns};
    c->ns += wait.ns;
    add_wait(c, &wait);
}

/* The place with most of the waits for the lock that is waited for longest. */
static const struct place *heaviest(const struct contention *c, int64_t *ret_lock_ns)
{
    const struct place *best = NULL;
    *ret_lock_ns = 0;
    for (size_t i = 0; i < c->n_places; i++) {
        const struct place *p = &c->places[i];
        int64_t lock_ns = 0;
        for (size_t k = 0; k < c->n_places; k++)
            lock_ns += is_same_lock(p, &c->places[k]) ? c->places[k].ns : 0;
        if (lock_ns > *ret_lock_ns || (lock_ns == *ret_lock_ns && best && p->ns > best->ns)) {
            best = p;
            *ret_lock_ns = lock_ns;
        }
    }
    return best;
}

/* Is RUN a wait of T for the lock of AT? */
static bool is_wait_for(const struct judgement *s, const struct profile_thread *t,
                        const struct run *run, const struct place *at)
{
    const struct wait_side *side = run->at.wait.ix ? holders_side(s->holders, run->at) : NULL;
    return run->state == RUN_BLOCKED && side && is_lock(side) &&
           is_same_lock(&(struct place){.side = *side, .pid = pid_of(s, t)}, at);
}

static bool waits_untimed(const struct judgement *s, const struct profile_thread *t,
                          const struct run *run, const struct place *at)
{
    return is_wait_for(s, t, run, at) && !holders_side(s->holders, run->at)->timed;
}

/* Did T get the lock of AT?  Its wait ended, and a wait without a time-out ends with the lock. */
static bool got_it(const struct judgement *s, const struct profile_thread *t,
                   const struct place *at)
{
    for (size_t k = 1; k < t->n_runs && !t->n_folded; k++)
        if (t->runs[k].state != RUN_MISSED && !waits_untimed(s, t, &t->runs[k], at) &&
            waits_untimed(s, t, &t->runs[k - 1], at))
            return true;
    return false;
}

static void add_those_that_got_it(const struct judgement *s, const struct thread_group *group,
                                  struct contention *c, const struct place *at)
{
    for (size_t i = 0; i < group->n; i++)
        if (got_it(s, group->threads[i]->thread, at))
            add_holder(c, group->threads[i]->thread, 0);
}

/* Those that were read to hold the lock of AT, for which GROUP waits. */
static void add_those_that_were_read(const struct judgement *s, const struct thread_group *group,
                                     struct contention *c, const struct place *at)
{
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++)
            if (is_wait_for(s, t, &t->runs[k], at))
                add_holder(c, holders_thread(s->holders, &t->runs[k]), t->runs[k].weights.wall_ns);
    }
}

static bool are_all_read(const struct contention *c)
{
    return c->n_holders < MOST_HOLDERS && share_of(c->read_ns, c->lock_ns) >= read_part;
}

/* Has one of them the lock nearly always?  That is said by the waits whose holder was read, where
 * these are not too few. */
static bool has_one_holder(const struct contention *c)
{
    bool telling = share_of(c->read_ns, c->lock_ns) >= telling_part;
    for (size_t i = 0; i < c->n_holders; i++)
        if (telling && share_of(c->holders[i].ns, c->read_ns) >= in_turn_part)
            return true;
    return c->n_holders < 2;
}

/* ---- what the holders do ---- */

/* Of the times ALL what HOLDER does not spend in waits for the lock of AT itself: the holder of one
 * moment is not that of the whole wait.  The caller releases it. */
static struct intervals without_own_waits(const struct judgement *s, const struct place *at,
                                          const struct profile_thread *holder,
                                          const struct intervals *all)
{
    struct intervals ret = {.n = 0};
    for (struct run_parts p = run_parts_of(holder, all->items, all->n); run_parts_next(&p);)
        if (!is_wait_for(s, holder, p.run, at))
            intervals_add(&ret, p.when);
    return ret;
}

/* HELD[i]: the waits of GROUP for the lock of AT while C's holder I has it. */
static void add_held_times(const struct judgement *s, const struct thread_group *group,
                           const struct contention *c, const struct place *at,
                           struct intervals *held)
{
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs && !t->n_folded; k++) {
            const struct run *run = &t->runs[k];
            size_t by = 0;
            if (!is_wait_for(s, t, run, at))
                continue;
            const struct profile_thread *holder = holders_thread(s->holders, run);
            while (by < c->n_holders && c->holders[by].thread != holder)
                by++;
            if (by < c->n_holders)
                intervals_add_run(&held[by], run);
        }
    }
}

struct contention_facts {
    struct place at; /* where most of the waits are */
    size_t n_holders;
    bool all_read;                      /* there are no more holders */
    const struct thread_group *holders; /* that of one of them; NULL: they do not do the same */
    struct call_path way;               /* on which they are while they have it */
    double way_share;                   /* of that time */
    struct kernel_side side;            /* whom they wait for there */
};

/* T: of the times in which they have it.  HOLDER: one of them. */
static void find_holders_way(const struct judgement *s, const struct profile_thread *holder,
                             struct tally *t, struct contention_facts *facts, struct finding *f)
{
    const struct thread_group *holders = groups_of(s->g, holder);
    if (t->samples < LEAST_SAMPLES || !holders || !call_paths_heaviest(t, &facts->way, 1))
        return;
    facts->way_share = share_of(call_path_call_ns(t, &facts->way), t->all_ns);
    add_figure(f, "holders_share", facts->way_share);
    if (facts->way_share < same_part)
        return;
    facts->holders = holders;
    facts->side = kernel_side_of(s, holders, facts->way.node);
    f->also = facts->side.other ? facts->side.other->noun : NULL;
}

static void find_what_they_do(const struct judgement *s, const struct thread_group *group,
                              const struct contention *c, const struct place *at,
                              struct contention_facts *facts, struct finding *f)
{
    struct intervals held[MOST_HOLDERS] = {{.n = 0}};
    const struct profile_thread *seen = NULL;
    struct tally t;
    add_held_times(s, group, c, at, held);
    tally_init(&t, s->g->tree, TALLY_ALL);
    for (size_t i = 0; i < c->n_holders; i++) {
        const struct profile_thread *holder = c->holders[i].thread;
        intervals_unite(&held[i]);
        intervals_keep_exact(&held[i], s->p);
        struct intervals all = held[i];
        held[i] = without_own_waits(s, at, holder, &all);
        intervals_release(&all);
        if (!held[i].n)
            continue;
        tally_add(&t, holder, held[i].items, held[i].n);
        seen = holder;
    }
    if (seen)
        find_holders_way(s, seen, &t, facts, f);
    tally_release(&t);
    for (size_t i = 0; i < c->n_holders; i++)
        intervals_release(&held[i]);
}

static void apply(const struct judgement *s, const struct thread_group *group,
                  const struct contention *c, const struct place *at, struct finding *f)
{
    struct contention_facts facts = {
        .at = *at, .n_holders = c->n_holders, .all_read = are_all_read(c)};
    find_what_they_do(s, group, c, at, &facts, f);
    f->unless = "waits_for"; /* that names the same holders, if they are alike */
    finding_applies(f, &facts, sizeof facts);
}

/* GROUP's waits at the places for the lock of AT of which nothing was read: Python's locks are
 * searched for now and then only. */
static int64_t unread_ns(const struct judgement *s, const struct thread_group *group,
                         const struct contention *c, const struct place *at)
{
    int64_t ns = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++) {
            const struct run *run = &t->runs[k];
            if (run->state != RUN_BLOCKED || holders_side(s->holders, run->at)->addr)
                continue;
            uint32_t node = call_tree_of(s->g->tree, run->at);
            for (size_t p = 0; p < c->n_places; p++)
                if (c->places[p].node == node && is_same_lock(&c->places[p], at)) {
                    ns += run->weights.wall_ns;
                    break;
                }
        }
    }
    return ns;
}

void rule_contention(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct contention c = {0};
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++)
            add_run(s, &c, t, &t->runs[k]);
    }
    const struct place *at = heaviest(&c, &c.lock_ns);
    bool one_lock = share_of(c.lock_ns, c.ns) >= one_lock_part;
    int64_t ns = c.lock_ns + (at && one_lock ? unread_ns(s, group, &c, at) : 0);
    double share = share_of(ns, group->wall_ns);
    if (at)
        add_those_that_were_read(s, group, &c, at);
    if (at && group->n > 1) /* of one that waits another is the holder */
        add_those_that_got_it(s, group, &c, at);
    add_figure(f, "share", share);
    add_figure(f, "holders", (double)c.n_holders);
    f->share = share;
    if (at && share >= worth_telling && one_lock && !has_one_holder(&c) &&
        !facts_about(s, group)->in_circle && !facts_about(s, group)->stuck)
        apply(s, group, &c, at, f);
}

/* "6 work threads wait 42% of their time for mutex table_mutex in insert_row a.cc:8.  9 threads
 * hold it in turn, 94% of that time in emit > write pipe."  "At least 9", where not all holders
 * were read. */
void tell_contention(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct contention_facts *facts = f->facts;
    struct call_path path = call_path_to(&f->group->tally, facts->at.node);
    add_opening(f->group, "wait", f->share, words);
    text_add(words, " for ");
    wait_side_add_thing(words, s->p, &facts->at.side);
    add_heaviest_place(words, &path, (int64_t)(f->share * (double)f->group->wall_ns));
    call_path_release(&path);
    text_addf(words, ". %s%zu threads hold it in turn", facts->all_read ? "" : "At least ",
              facts->n_holders);
    if (facts->holders) {
        text_add(words, ", ");
        add_percent(words, facts->way_share);
        text_add(words, " of that time in ");
        add_way(words, &facts->way);
    }
    text_add(words, ".");
    if (facts->holders)
        kernel_side_add(s, facts->holders, &facts->side, words, f);
    add_meaning(s, facts->at.node, words);
}

void release_contention(void *facts)
{
    struct contention_facts *c = facts;
    call_path_release(&c->way);
    kernel_side_release(&c->side);
}
