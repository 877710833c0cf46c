/* The rule about work that is shared out unevenly: a main thread waits for its pool's threads or
 * processes, most of which wait for work meanwhile, because one has what is left.
 *
 * Nobody tells whom main waits for: a pool's own thread wakes it.  So it is told by how many have
 * work while it waits. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "summary/crew.h"
#include "summary/heaviest_paths.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

/* A single wait may be for anything, as of a server's main thread: only a known pool's is not. */
enum { LEAST_WORKERS = 2, LEAST_WAITS = 5 };
static const double wait_share = 0.5;   /* of main's time */
static const double alone_share = 0.5;  /* of its waits: one has work then */
static const double some_share = 0.8;   /* likewise: somebody has */
static const double idle_share = 0.35;  /* of the workers' time then */
static const double always_share = 0.8; /* of the time of one alone: it is the same one */
static const double never_two = 0.97;   /* of the time that some work: it is one alone */
static const double mostly_one = 0.8;   /* the same, where tasks are short or samples few */
static const double other_share = 0.5;  /* of the waits: for so long another thread is busy */

/* Who waits for a crew. */
struct waiter {
    struct thread_group *group; /* NULL: nobody */
    const struct thread_summary *thread;
    struct intervals waits;
};

/* How many workers have work meanwhile. */
struct at_work {
    int64_t wait_ns, alone_ns, some_ns, all_ns; /* ALL: one is added for each of them */
    struct intervals alone;
};

static bool is_for_pool(struct call_tree *t, const struct run *run)
{
    const struct call_node at = call_tree_node(t, call_tree_of(t, run->at));
    return class_of_run(t, run) == CLASS_ORDINARY && at.frame->call &&
           str_starts(at.frame->call, "futex") && at.futex != FUTEX_JOIN;
}

static struct intervals waits_of(const struct judgement *s, const struct profile_thread *main)
{
    struct intervals waits = {.n = 0};
    size_t n = 0;
    for (size_t i = 0; i < main->n_runs && !main->n_folded; i++) {
        const struct run *run = &main->runs[i];
        if (!is_for_pool(s->g->tree, run))
            continue;
        intervals_add_run(&waits, run);
        bool results = rule_stack_has(s, run->at, rule_is_for_results);
        n += results ? LEAST_WAITS : run->waits > 1 ? run->waits : 1;
    }
    if (n < LEAST_WAITS)
        intervals_release(&waits);
    intervals_keep_exact(&waits, s->p);
    return waits;
}

/* The main thread of C's process; of processes that of their parent. */
static struct waiter waiter_of(const struct crew *c)
{
    const struct judgement *s = c->s;
    const struct profile_thread *first = c->group->threads[0]->thread;
    process_id process = first->process;
    if (first->main)
        process = profile_see_process(s->p, process)->parent;
    for (size_t i = 0; process.ix && i < s->g->n; i++)
        for (size_t k = 0; k < s->g->items[i].n; k++) {
            const struct thread_summary *t = s->g->items[i].threads[k];
            if (t->thread->main && t->thread->process.ix == process.ix)
                return (struct waiter){&s->g->items[i], t, waits_of(s, t->thread)};
        }
    return (struct waiter){.group = NULL};
}

/* ---- how many have work ---- */

/* Does NODE wait until somebody wakes it, as for a queue? */
static bool is_to_be_woken(const struct call_tree *tree, uint32_t node)
{
    static const unsigned queues = 1U << FUTEX_CONDITION | 1U << FUTEX_SEMAPHORE;
    return queues >> call_tree_node(tree, node).futex & 1;
}

/* The node in which C waits to be woken for longest; 0: none. */
static uint32_t find_wait(struct crew *c)
{
    struct call_tree *tree = c->s->g->tree;
    uint32_t best = 0;
    for (uint32_t node = 1; node <= call_tree_count(tree); node++)
        if (is_to_be_woken(tree, node) &&
            tally_self(&c->time, node) > (best ? tally_self(&c->time, best) : 0))
            best = node;
    return best;
}

/* The user's function on the way to NODE that calls the one of KEY; 0: none does. */
static uint32_t caller_of(const struct call_tree *tree, uint32_t node, uint32_t key)
{
    while (node && call_tree_node(tree, node).key != key)
        node = call_tree_node(tree, node).parent;
    while (node &&
           (call_tree_node(tree, node).key == key || call_tree_node(tree, node).role != ROLE_OWN))
        node = call_tree_node(tree, node).parent;
    return node ? call_tree_node(tree, node).key : 0;
}

/* Is nearly all that C's threads do called from the function of KEY? */
static bool is_below(struct crew *c, uint32_t key)
{
    static const double nearly_all = 0.9;
    struct call_tree *tree = c->s->g->tree;
    bool *within = xcalloc(call_tree_count(tree) + (size_t)1, sizeof *within);
    int64_t ns = 0;
    for (uint32_t node = 1; key && node <= call_tree_count(tree); node++) {
        const struct call_node at = call_tree_node(tree, node); /* a parent before its child */
        within[node] = within[at.parent] || at.key == key;
        ns += within[node] ? tally_self(&c->time, node) : 0;
    }
    free(within);
    return share_of(ns, c->time.all_ns) >= nearly_all;
}

/* The user's function in which C's threads wait for work: it, or its caller, does the work, too.
 * As call_node's key; 0: there is none. */
static uint32_t find_loop(struct crew *c)
{
    struct call_tree *tree = c->s->g->tree;
    const uint32_t node = find_wait(c);
    const uint32_t wait = node ? call_path_own_key(tree, node) : 0;
    return wait && (is_below(c, wait) || is_below(c, caller_of(tree, node, wait))) ? wait : 0;
}

/* Does RUN wait for work: in a known pool's wait, or in the function LOOP, find_loop()? */
static bool has_no_work(struct call_tree *tree, const struct run *run, uint32_t loop)
{
    const uint32_t node = call_tree_of(tree, run->at);
    return call_tree_node(tree, node).idle ||
           (loop && is_to_be_woken(tree, node) && call_path_own_key(tree, node) == loop);
}

/* When THREAD has work, or else waits for some, within WAITS. */
static struct intervals times_of(const struct crew *c, const struct profile_thread *thread,
                                 bool idle, const struct intervals *waits)
{
    struct intervals ret = {.n = 0};
    for (struct run_parts p = run_parts_of(thread, waits->items, waits->n); run_parts_next(&p);)
        if (p.run->state != RUN_MISSED && has_no_work(c->s->g->tree, p.run, c->loop) == idle)
            intervals_join(&ret, p.when);
    return ret;
}

static int64_t ns_of(const struct crew *c, const struct profile_thread *thread, bool idle,
                     const struct intervals *waits)
{
    struct intervals times = times_of(c, thread, idle, waits);
    int64_t ns = intervals_ns(&times);
    intervals_release(&times);
    return ns;
}

static struct at_work at_work_in(const struct crew *c, const struct intervals *waits)
{
    struct at_work ret = {.wait_ns = intervals_ns(waits)};
    struct crew_changes all = {.n = 0};
    const struct thread_summary *t;
    for (size_t i = 0; (t = crew_next(c, &i));) {
        struct intervals times = times_of(c, t->thread, false, waits);
        crew_changes_add(&all, &times);
        intervals_release(&times);
    }
    crew_changes_sort(&all);
    int n = 0;
    for (size_t i = 0; i + 1 < all.n; i++) {
        struct interval now = {all.items[i].ns, all.items[i + 1].ns};
        int64_t ns = now.end_ns - now.start_ns;
        n += all.items[i].by;
        ret.all_ns += n * ns;
        ret.some_ns += n > 0 ? ns : 0;
        ret.alone_ns += n == 1 ? ns : 0;
        if (n == 1)
            intervals_join(&ret.alone, now);
    }
    crew_changes_release(&all);
    return ret;
}

/* Do C's threads wait for work while they have none?  Those of short-lived pools hardly do. */
static bool are_of_pool(const struct crew *c, const struct intervals *waits)
{
    int64_t idle_ns = 0;
    const struct thread_summary *t;
    for (size_t i = 0; (t = crew_next(c, &i));)
        idle_ns += ns_of(c, t->thread, true, waits);
    return share_of(idle_ns, (int64_t)c->n * intervals_ns(waits)) >= idle_share;
}

/* When THREAD, which may belong to no pool, runs or is in an unusual wait within WAITS. */
static struct intervals busy_times(const struct judgement *s, const struct profile_thread *thread,
                                   const struct intervals *waits)
{
    struct intervals ret = {.n = 0};
    for (struct run_parts p = run_parts_of(thread, waits->items, waits->n); run_parts_next(&p);)
        if (is_busy_class(class_of_run(s->g->tree, p.run), p.run))
            intervals_join(&ret, p.when);
    return ret;
}

/* The other thread of W's process that is at work for most of W's waits, as that which hands out a
 * pool's work: it keeps C's from theirs.  Another pool's has tasks of its own.  NULL: there is
 * none. */
static const struct thread_summary *keeper_of(const struct crew *c, const struct waiter *w)
{
    const struct judgement *s = c->s;
    for (size_t i = 0; i < s->g->summaries.n; i++) {
        const struct thread_summary *t = &s->g->summaries.threads[i];
        bool other = t != w->thread && t->thread->process.ix == w->thread->thread->process.ix &&
                     !crew_has(c, t) && !t->thread->n_folded && !t->of_pool;
        if (!other)
            continue;
        struct intervals times = busy_times(s, t->thread, &w->waits);
        double share = share_of(intervals_ns(&times), intervals_ns(&w->waits));
        intervals_release(&times);
        if (share > other_share)
            return t;
    }
    return NULL;
}

/* Is the one that works alone always the same?  Then each may have work of its own, as the stages
 * of a pipeline have: no balance helps. */
static bool is_always_one(const struct crew *c, const struct at_work *w)
{
    const struct thread_summary *t;
    int64_t most_ns = 0;
    for (size_t i = 0; (t = crew_next(c, &i));)
        most_ns = max_i64(most_ns, ns_of(c, t->thread, false, &w->alone));
    return share_of(most_ns, w->alone_ns) >= always_share;
}

/* Do C's threads work one after the other, never two at a time?  Where one has more than others the
 * rest begins with it. */
static bool take_turns(const struct crew *c, const struct at_work *w)
{
    return share_of(w->alone_ns, w->some_ns) >= never_two && !is_always_one(c, w);
}

/* ---- words ---- */

/* "LEAD simulate sim.py:13": where T, which is released, is for longest. */
static void add_longest(struct tally *t, const char *lead, struct text *words)
{
    struct call_path path;
    if (call_paths_heaviest(t, &path, 1)) {
        text_add(words, lead);
        add_way(words, &path);
        call_path_release(&path);
    }
    tally_release(t);
}

/* ", in simulate sim.py:13": of the one that works alone. */
static void add_place_alone(const struct crew *c, const struct at_work *w, struct text *words)
{
    struct intervals *works = xcalloc(c->n, sizeof *works); /* the tally borrows them */
    struct tally sum;
    const struct thread_summary *t;
    tally_init(&sum, c->s->g->tree, TALLY_ALL);
    for (size_t i = 0, k = 0; (t = crew_next(c, &i)); k++) {
        works[k] = times_of(c, t->thread, false, &w->alone);
        if (works[k].n)
            tally_add(&sum, t->thread, works[k].items, works[k].n);
    }
    add_longest(&sum, ", in ", words);
    for (size_t k = 0; k < c->n; k++)
        intervals_release(&works[k]);
    free(works);
}

/* " Meanwhile _handle_tasks is at work for 92% of that time, mainly in dumps." */
static void add_keeper(const struct judgement *s, const struct thread_summary *keeper,
                       const struct thread_group *group, const struct intervals *waits,
                       struct text *words)
{
    struct tally sum;
    struct intervals works = busy_times(s, keeper->thread, waits);
    tally_init(&sum, s->g->tree, TALLY_ALL);
    tally_add(&sum, keeper->thread, works.items, works.n);
    text_addf(words, " Meanwhile %s%s is at work for ", group->plural ? "one of " : "",
              group->noun);
    add_percent(words, share_of(intervals_ns(&works), intervals_ns(waits)));
    text_add(words, " of that time");
    add_longest(&sum, ", mainly in ", words);
    text_add(words, ".");
    intervals_release(&works);
}

/* " On average 1.6 of 4 python3 processes" */
static void add_at_work(const struct crew *c, double mean, struct text *words)
{
    text_addf(words, " On average %.1f of %.0f ", mean, crew_alive(c));
    crew_add_name(c, words);
}

/* " works then, one after the other and never two at a time, in get_tile map.py:8. …" */
static void add_turns(const struct crew *c, const struct at_work *w, struct text *words)
{
    text_add(words, " works then, one after the other and never two at a time");
    add_place_alone(c, w, words);
    text_addf(words,
              ". Either there is one task at a time, or only one %s is woken for several, as "
              "by notify_one().",
              c->group->threads[0]->thread->main ? "process" : "thread");
}

static bool is_of_pool(const struct shown_frame *f)
{
    return f->kind == SHOWN_PYTHON && path_ends(f->file, "multiprocessing/pool.py");
}

/* Are C's those of a multiprocessing.Pool, whose map() has a chunksize? */
static bool is_pool(const struct judgement *s, const struct crew *c)
{
    return !c->loop && rule_thread_has(s, c->group->threads[0]->thread, is_of_pool);
}

/* " have work then; for 64% of that time one works alone, in simulate sim.py:13. …" */
static void add_alone(const struct judgement *s, const struct crew *c, const struct at_work *w,
                      double mean, struct text *words)
{
    text_addf(words, " %s work then; for ", mean < 1.05 ? "has" : "have");
    add_percent(words, share_of(w->alone_ns, w->wait_ns));
    text_add(words, " of that time one works alone");
    add_place_alone(c, w, words);
    text_add(words, ". To balance it, make tasks smaller and start the longest first");
    if (c->loop && share_of(w->alone_ns, w->some_ns) >= mostly_one)
        text_add(words, "; and wake a thread for each: notify_one() for several lets the others "
                        "sleep.");
    else
        text_add(words, is_pool(s, c) ? "; chunksize=1 makes one per item." : ".");
}

/* ---- the rule ---- */

struct uneven_facts {
    struct crew crew;
    struct waiter waiter;
    struct call_path path; /* in which it waits */
    struct at_work work;
    double mean;                         /* at work, while it waits */
    const struct thread_summary *keeper; /* NULL: there is none */
    const struct thread_group *keeps;    /* KEEPER's */
};

/* Of processes: do their main threads, which C is of, run for as long as all their others?  Else
 * these are who works. */
static bool works_itself(const struct crew *c)
{
    int64_t own_ns = 0;
    int64_t all_ns = 0;
    bool *theirs = xcalloc(profile_process_count(c->s->p) + (size_t)1, sizeof *theirs);
    const struct thread_summary *t;
    for (size_t i = 0; c->group->threads[0]->thread->main && (t = crew_next(c, &i));) {
        own_ns += t->cpu_ns;
        theirs[t->thread->process.ix] = true;
    }
    for (size_t i = 0; i < c->s->g->summaries.n; i++) {
        t = &c->s->g->summaries.threads[i];
        all_ns += theirs[t->thread->process.ix] ? t->cpu_ns : 0;
    }
    free(theirs);
    return 2 * own_ns >= all_ns;
}

/* Of U's crew and waiter: is it so? */
static bool judge(struct uneven_facts *u)
{
    struct crew *c = &u->crew;
    struct at_work *w = &u->work;
    const struct intervals *waits = &u->waiter.waits;
    if (share_of(intervals_ns(waits), u->waiter.thread->wall_ns) < wait_share || !works_itself(c))
        return false;
    c->loop = find_loop(c);
    *w = at_work_in(c, waits);
    u->mean = share_of(w->all_ns, w->wait_ns);
    bool idle = 1 - share_of(w->all_ns, (int64_t)c->n * w->wait_ns) >= idle_share;
    bool alone = share_of(w->alone_ns, w->wait_ns) >= alone_share &&
                 share_of(w->some_ns, w->wait_ns) >= some_share;
    alone &= !c->loop || !is_always_one(c, w);
    if (!idle || !are_of_pool(c, waits))
        return false;
    u->keeper = keeper_of(c, &u->waiter);
    u->keeps = u->keeper ? groups_of(c->s->g, u->keeper->thread) : NULL;
    return (u->keeper || alone) &&
           heaviest_in_class(&u->waiter.group->tally, CLASS_ORDINARY, &u->path);
}

static void apply(const struct uneven_facts *u, struct finding *f)
{
    const struct at_work *w = &u->work;
    f->share = share_of(w->wait_ns, u->waiter.thread->wall_ns);
    f->about = u->waiter.group->noun;
    f->also = u->keeps ? u->keeps->noun : NULL;
    add_figure(f, "share", f->share);
    add_figure(f, "alone_share", share_of(w->alone_ns, w->wait_ns));
    add_figure(f, "at_work", u->mean);
    finding_applies(f, u, sizeof *u);
}

void rule_uneven(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    (void)group;
    if (profile_time_step_ns(s->p) > 0) /* how many work at a time is unknown from here on */
        return;
    for (size_t i = 0; i < s->g->n && !f->applies; i++) {
        struct uneven_facts u = {.keeper = NULL};
        if (crew_make(s, &s->g->items[i], LEAST_WORKERS, &u.crew))
            u.waiter = waiter_of(&u.crew);
        if (u.waiter.waits.n && judge(&u))
            apply(&u, f);
        else
            release_uneven(&u);
    }
}

/* "main waits 99% of its time in run_rounds sim.py:21. On average …", or of a keeper. */
void tell_uneven(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct uneven_facts *u = f->facts;
    add_opening(u->waiter.group, "wait", f->share, words);
    text_add(words, " in ");
    add_way(words, &u->path);
    text_add(words, ".");
    if (u->keeps)
        add_keeper(s, u->keeper, u->keeps, &u->waiter.waits, words);
    add_at_work(&u->crew, u->mean, words);
    if (u->keeps)
        text_addf(words, " %s work then, and the others wait for work.",
                  u->mean < 1.05 ? "has" : "have");
    else if (take_turns(&u->crew, &u->work))
        add_turns(&u->crew, &u->work, words);
    else
        add_alone(s, &u->crew, &u->work, u->mean, words);
}

void release_uneven(void *facts)
{
    struct uneven_facts *u = facts;
    crew_release(&u->crew);
    intervals_release(&u->waiter.waits);
    intervals_release(&u->work.alone);
    call_path_release(&u->path);
}
