#include "summary/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "base/share.h"
#include "base/text.h"
#include "summary/coverage.h"
#include "summary/group_times.h"
#include "summary/heaviest_paths.h"
#include "summary/launchers.h"
#include "summary/own_loops.h"
#include "summary/own_spins.h"
#include "summary/process_name.h"

enum {
    MAX_GROUPS = 100,   /* each has sums of all places: later threads are one, whatever they do */
    MAX_COMPARED = 500, /* threads; later ones are alike if they are called alike */
    LISTED_PARTS = 50,  /* a place with less than one of so many parts of a thread's time is none */
    NAMED_AT_MOST = 3,  /* members of a group, in a sentence */
    NAMED_COLUMNS = 60, /* for them */
    LISTED_COLUMNS = 20, /* for a program's name and pids, in a row */
};
static const double compared_share = 0.10, allowed_difference = 0.15;

/* A place, and what part of a thread's time is there. */
struct place_share {
    uint32_t node;
    double share;
};

/* The measures on which a thread must agree with a group to be alike. */
struct distribution {
    struct place_share *places; /* by node */
    size_t n, capacity;
    double states[COUNTED_KINDS];
    uint64_t looks; /* independent ones */
    double sigmas;  /* so much is chance: of many threads that are alike one is far off */
    bool takes_tasks;
};

/* ---- alike? ---- */

/* Of N samples in RUNS runs so many are independent: one that finds what the one before has found
 * says little more, as a thread in a long wait is there at many ticks. */
static double independent(double n, double runs)
{
    enum { LONGEST = 3 }; /* samples: who never does anything else is no chance either */
    return fmax(n / LONGEST, fmin(runs, n));
}

/* As many independent samples of THREAD as are worth all that it has.  Of its waits for a CPU, each
 * at many ticks, only ASKED, a share, have a stack of their own (sampler/waiters.h).  Where N looks
 * stand for the part P of its time, the variance of a share is P²/N of what one sample has. */
static uint64_t independent_looks(const struct profile_thread *thread, double asked)
{
    double n[2] = {0}; /* of waits for a CPU, of the rest */
    double runs[2] = {0};
    const struct profile_usage *u = &thread->usage;
    for (size_t i = 0; i < thread->n_runs; i++) {
        const struct run *run = &thread->runs[i];
        bool waits = run->state == RUN_RUNNABLE;
        n[!waits] += run->state == RUN_MISSED ? 0 : (double)run->samples;
        runs[!waits]++;
    }
    double waits = u->over_ns > 0 ? (double)(u->voluntary + u->involuntary) : runs[0];
    double looks[2] = {asked * fmin(n[0], waits), independent(n[1], runs[1])};
    double all = n[0] + n[1];
    double variance = 0;
    for (int i = 0; i < 2; i++)
        if (n[i] > 0)
            variance += n[i] * n[i] / (all * all * fmax(looks[i], 1));
    return variance > 0 ? (uint64_t)(1 / variance) : 0;
}

static void set_shares(struct distribution *d, struct tally *t, int64_t cpu_ns, int64_t runqueue_ns,
                       int64_t wall_ns)
{
    d->n = 0;
    for (uint32_t node = 1; node <= call_tree_count(t->tree); node++)
        if (tally_total(t, node) > t->all_ns / LISTED_PARTS) {
            d->places = array_reserve(d->places, &d->capacity, d->n + 1, sizeof *d->places);
            d->places[d->n++] =
                (struct place_share){node, share_of(tally_total(t, node), t->all_ns)};
        }
    d->states[COUNTED_CPU] = share_of(cpu_ns, wall_ns);
    d->states[COUNTED_RUNQUEUE] = share_of(runqueue_ns, wall_ns);
    d->states[COUNTED_OFF_CPU] = 1 - d->states[COUNTED_CPU] - d->states[COUNTED_RUNQUEUE];
}

/* How many of the waits for a CPU are worth a look of their own, as a share. */
static double asked_part(const struct profile *p)
{
    enum { UNEVEN = 3 }; /* those asked differ in length, and in how many they stand for */
    double asked = profile_number(p, METRIC_WAITS_ASKED);
    double unasked = profile_number(p, METRIC_WAITS_UNASKED);
    return unasked > 0 ? asked / (asked + unasked) / UNEVEN : 1;
}

static struct distribution distribution_of(struct groups *g, const struct thread_summary *s)
{
    struct distribution d = {
        .looks = independent_looks(s->thread, asked_part(g->p)),
        .sigmas = fmax(2, sqrt(2 * log((double)g->summaries.n))),
        /* Which task a pool's thread has is chance; one that waits is told by where. */
        .takes_tasks = s->of_pool && 2 * s->cpu_ns >= s->wall_ns};
    struct tally tally;
    tally_init(&tally, g->tree, TALLY_ALL);
    tally_add_thread(&tally, s->thread);
    set_shares(&d, &tally, s->cpu_ns, s->runqueue_ns, s->wall_ns);
    tally_release(&tally);
    return d;
}

/* Fifteen points, and what chance makes of the samples of both.  Of KIN the few samples of the one
 * are compared with what the other mostly does. */
static bool agree(double a, double b, const struct distribution *x, const struct distribution *y,
                  bool kin)
{
    double looks[2] = {(double)(x->looks + 1), (double)(y->looks + 1)};
    double p = kin ? (a * looks[0] + b * looks[1]) / (looks[0] + looks[1]) : (a + b) / 2;
    double n = 1 / looks[0] + 1 / looks[1];
    return fabs(a - b) <= allowed_difference + fmax(x->sigmas, y->sigmas) * sqrt(p * (1 - p) * n);
}

/* What part of Y's time is in the place I of X; *K: where the last look into Y ended. */
static double share_there(const struct distribution *x, size_t i, const struct distribution *y,
                          size_t *k)
{
    while (*k < y->n && y->places[*k].node < x->places[i].node)
        (*k)++;
    return *k < y->n && y->places[*k].node == x->places[i].node ? y->places[*k].share : 0;
}

static bool places_agree(const struct distribution *x, const struct distribution *y, bool kin)
{
    size_t k = 0;
    for (size_t i = 0; i < x->n; i++) {
        double other = share_there(x, i, y, &k);
        if (x->places[i].share >= compared_share && !agree(x->places[i].share, other, x, y, kin))
            return false;
    }
    return true;
}

static bool alike(const struct distribution *x, const struct distribution *y, bool kin)
{
    for (int kind = 0; kind < COUNTED_KINDS; kind++)
        if (!agree(x->states[kind], y->states[kind], x, y, kin))
            return false;
    if (x->takes_tasks && y->takes_tasks)
        return true;
    return places_agree(x, y, kin) && places_agree(y, x, kin);
}

/* The largest difference of a share, of X's places and of their states. */
static double difference(const struct distribution *x, const struct distribution *y)
{
    double ret = 0;
    size_t k = 0;
    for (int kind = 0; kind < COUNTED_KINDS; kind++)
        ret = fmax(ret, fabs(x->states[kind] - y->states[kind]));
    for (size_t i = 0; i < x->n; i++)
        ret = fmax(ret, fabs(x->places[i].share - share_there(x, i, y, &k)));
    return ret;
}

/* ---- names ---- */

/* "rank1 main", "cc1 6823", "main 6823", "worker 6825", "70 ended: job" */
static char *label_of_one(const struct profile *p, const struct thread_summary *s,
                          struct label_shape *ret)
{
    struct text label = {0};
    char *process = name_of_process(p, s->thread->process);
    bool rank = *process && process_is_rank(p, s->thread->process);
    if (s->thread->n_folded)
        text_addf(&label, "%u ended: ", s->thread->n_folded);
    if (rank || (*process && !s->thread->main))
        text_addf(&label, "%s ", process);
    ret->head = label.len;
    char *title = title_of_process(p, s->thread->process);
    const char *name = *process && !rank && s->thread->main && *title ? title : s->name;
    text_add_tame(&label, name, strlen(name));
    free(title);
    size_t before = label.len;
    if (!s->thread->n_folded && !(rank && s->thread->main))
        text_addf(&label, " %d", s->thread->tid);
    ret->tail = label.len - before;
    free(process);
    return label.s;
}

/* "rank1", "17001 (python3)"; nothing of the only process. */
static void add_process(struct text *out, const struct profile *p, process_id id)
{
    char *process = name_of_process(p, id);
    char *title = *process && !process_is_rank(p, id) ? title_of_process(p, id) : NULL;
    text_add(out, process);
    if (title && *title)
        text_addf(out, " (%s)", title);
    free(title);
    free(process);
}

/* For a sentence: "main", "rank1", "rank1's loader", "17001 (python3)", "mge-worker". */
static void add_noun_of_one(struct text *out, const struct profile *p,
                            const struct thread_summary *s)
{
    char *process = name_of_process(p, s->thread->process);
    if (*process && s->thread->main) {
        add_process(out, p, s->thread->process);
    } else {
        text_addf(out, *process ? "%s's " : "", process);
        text_add_tame(out, s->name, strlen(s->name));
    }
    free(process);
}

/* Are the members main threads, so that processes are what is alike? */
static bool is_of_mains(const struct thread_group *g)
{
    return g->threads[0]->thread->main;
}

/* "a, b and c" */
static void add_listed(struct text *out, const struct profile *p, const struct thread_group *g)
{
    for (size_t i = 0; i < g->n; i++) {
        if (i)
            text_add(out, i + 1 < g->n ? ", " : " and ");
        add_noun_of_one(out, p, g->threads[i]);
    }
}

/* Are all members ranks' main threads? */
static bool is_of_ranks(const struct profile *p, const struct thread_group *g)
{
    size_t i = 0;
    while (i < g->n && is_of_mains(g) && process_is_rank(p, g->threads[i]->thread->process))
        i++;
    return i == g->n;
}

static bool is_of_one_process(const struct thread_group *g)
{
    size_t i = 1;
    while (i < g->n && g->threads[i]->thread->process.ix == g->threads[0]->thread->process.ix)
        i++;
    return i == g->n;
}

/* Are all members threads of one name, and of one process?  A list of it would say nothing. */
static bool is_of_one_name(const struct thread_group *g)
{
    size_t i = 1;
    while (i < g->n && str_eq(g->threads[i]->name, g->threads[0]->name))
        i++;
    return g->n > 1 && i == g->n && is_of_one_process(g);
}

/* "8 parse threads" of "parse-*", "8 parse threads of 17001 (cc1)" beside others, "63 ranks". */
static void add_counted(struct text *out, const struct profile *p, const struct thread_group *g)
{
    const char *stem = g->threads[0]->group;
    size_t len = thread_stem_len(stem);
    text_addf(out, "%zu ", g->n_threads);
    if (profile_process_count(p) > 1 && is_of_ranks(p, g)) {
        text_add(out, "ranks");
        return;
    }
    text_add_tame(out, stem, len);
    text_add(out, is_of_mains(g) ? " processes" : len ? " threads" : "threads");
    if (profile_process_count(p) > 1 && !is_of_mains(g) && is_of_one_process(g)) {
        text_add(out, " of ");
        add_process(out, p, g->threads[0]->thread->process);
    }
}

/* Processes as they were added, their threads as they began. */
static int by_age(const void *a, const void *b)
{
    const struct profile_thread *x = (*(const struct thread_summary *const *)a)->thread;
    const struct profile_thread *y = (*(const struct thread_summary *const *)b)->thread;
    if (x->process.ix != y->process.ix)
        return x->process.ix < y->process.ix ? -1 : 1;
    return (x > y) - (x < y);
}

/* "rank0, rank2 main", "cc1 17001, 17002"; BRIEF: "rank0, 2 main" of ranks. */
static void add_mains(struct text *out, const struct profile *p, const struct thread_group *g,
                      bool brief)
{
    bool titled = !str_eq(g->threads[0]->group, g->threads[0]->name);
    if (titled)
        text_addf(out, "%s ", g->threads[0]->group);
    for (size_t i = 0; i < g->n; i++) {
        char *process = name_of_process(p, g->threads[i]->thread->process);
        bool rank = process_is_rank(p, g->threads[i]->thread->process);
        text_add(out, i ? ", " : "");
        text_add(out, process + (i && brief && rank ? strlen("rank") : 0));
        free(process);
    }
    text_add(out, titled ? "" : " main");
}

/* "8 x parse-*" */
static char *label_of_many(const struct thread_group *g, struct label_shape *ret)
{
    struct text label = {0};
    text_addf(&label, "%zu x ", g->n_threads);
    ret->head = label.len;
    text_add_tame(&label, g->threads[0]->group, strlen(g->threads[0]->group));
    return label.s;
}

/* "rank0, rank2 main", or "8 x cc1" where a list would be long. */
static char *label_of_mains(const struct profile *p, const struct thread_group *g,
                            struct label_shape *ret)
{
    struct text label = {0};
    struct text brief = {0};
    bool ranks = is_of_ranks(p, g);
    add_mains(&label, p, g, false);
    if (utf8_columns(label.s, label.len) > LISTED_COLUMNS && !ranks) {
        text_release(&label);
        return label_of_many(g, ret);
    }
    if (ranks)
        add_mains(&brief, p, g, true);
    ret->brief = brief.s;
    return label.s;
}

static void name_group(struct thread_group *g, const struct profile *p)
{
    struct text noun = {0};
    g->plural = g->n_threads > 1;
    qsort(g->threads, g->n, sizeof(const struct thread_summary *), by_age);
    bool folded = g->n == 1 && g->n_threads > 1;
    if (g->mixed)
        text_addf(&noun, "%zu other threads", g->n_threads);
    else if (g->n <= NAMED_AT_MOST && !folded && !is_of_one_name(g))
        add_listed(&noun, p, g);
    else
        add_counted(&noun, p, g);
    if (g->n > 1 && utf8_columns(noun.s, noun.len) > NAMED_COLUMNS) {
        text_clear(&noun);
        add_counted(&noun, p, g);
    }
    g->noun = noun.s;
    if (g->mixed) {
        g->label = xstrdup(noun.s);
    } else if (g->n == 1) {
        g->label = label_of_one(p, g->threads[0], &g->shape);
    } else if (is_of_mains(g) && g->n <= NAMED_AT_MOST) {
        g->label = label_of_mains(p, g, &g->shape);
    } else if (is_of_ranks(p, g)) {
        g->label = xasprintf("%zu ranks main", g->n_threads);
    } else {
        g->label = label_of_many(g, &g->shape);
    }
}

/* ---- groups ---- */

static void join(struct thread_group *g, const struct thread_summary *s)
{
    g->threads = array_reserve(g->threads, &g->capacity, g->n + 1, sizeof *g->threads);
    g->threads[g->n++] = s;
    g->n_threads += s->n_threads;
    g->leads |= s->leads;
    g->idle = s->pool_wait != NULL;
    g->wall_ns += s->wall_ns;
    g->cpu_ns += s->cpu_ns;
    g->runqueue_ns += s->runqueue_ns;
    g->active_ns += s->active_ns;
    g->seen_ns += (int64_t)(coverage_of_thread(s) * (double)s->wall_ns);
    if (!g->idle)
        tally_add_thread(&g->tally, s->thread);
}

/* Is S the main thread of a child of a process of G, or of its parent?  A process that starts
 * others, of its name and with its stack, does mostly something else than they. */
static bool is_kin(const struct groups *g, const struct thread_group *group,
                   const struct thread_summary *s)
{
    process_id id = s->thread->process;
    process_id parent = profile_see_process(g->p, id)->parent;
    for (size_t i = 0; i < group->n && s->thread->main; i++) {
        process_id other = group->threads[i]->thread->process;
        if (other.ix == parent.ix || profile_see_process(g->p, other)->parent.ix == id.ix)
            return true;
    }
    return false;
}

/* Idle threads need only the same pool: their counts say little of them. */
static bool belongs(const struct groups *all, const struct thread_group *g,
                    const struct distribution *of_group, const struct thread_summary *s,
                    const struct distribution *of_thread)
{
    const struct thread_summary *first = g->threads[0];
    if (g->mixed || !str_eq(first->group, s->group) || g->idle != (s->pool_wait != NULL) ||
        first->thread->main != s->thread->main ||
        (first->thread->n_folded > 0) != (s->thread->n_folded > 0))
        return false;
    if (g->idle)
        return str_eq(first->pool_wait, s->pool_wait);
    return !of_thread || alike(of_group, of_thread, is_kin(all, g, s));
}

static void add_group(struct groups *g)
{
    g->items = array_reserve(g->items, &g->capacity, g->n + 1, sizeof *g->items);
    g->items[g->n] = (struct thread_group){0};
    tally_init(&g->items[g->n].tally, g->tree, TALLY_ALL);
    g->n++;
}

/* The group of all threads for which there is none. */
static size_t mixed_group(struct groups *g)
{
    size_t i = 0;
    while (i < g->n && !g->items[i].mixed)
        i++;
    if (i == g->n) {
        add_group(g);
        g->items[i].mixed = true;
    }
    return i;
}

/* The group that S is most like, by chance maybe one of several; the number of groups: there is
 * none. */
static size_t place_of(const struct groups *g, const struct thread_summary *s,
                       const struct distribution *of_thread, const struct distribution *of_groups)
{
    size_t best = g->n;
    double least = 0;
    for (size_t i = 0; i < g->n; i++) {
        if (!belongs(g, &g->items[i], &of_groups[i], s, of_thread))
            continue;
        double far = difference(of_thread, &of_groups[i]);
        if (best == g->n || far < least) {
            best = i;
            least = far;
        }
    }
    return best;
}

/* The same for one of too many to compare, which come last because they did least: the last group
 * of its name is the least active one so far. */
static size_t last_place_of(const struct groups *g, const struct thread_summary *s)
{
    for (size_t i = g->n; i-- > 0;)
        if (belongs(g, &g->items[i], NULL, s, NULL))
            return i;
    return g->n;
}

/* OF_GROUPS: by group, with room for one more.  A group is what its members are together: the first
 * of them may be one by chance. */
static void place_thread(struct groups *g, const struct thread_summary *s, bool compared,
                         struct distribution *of_groups)
{
    struct distribution d = {0};
    if (compared && !s->pool_wait)
        d = distribution_of(g, s);
    size_t i = compared ? place_of(g, s, &d, of_groups) : last_place_of(g, s);
    bool is_new = i == g->n;
    if (is_new && i >= MAX_GROUPS && !s->pool_wait)
        i = mixed_group(g);
    else if (is_new)
        add_group(g);
    struct thread_group *group = &g->items[i];
    join(group, s);
    of_groups[i].looks += d.looks;
    of_groups[i].sigmas = d.sigmas;
    of_groups[i].takes_tasks |= d.takes_tasks;
    if (d.looks)
        set_shares(&of_groups[i], &group->tally, group->cpu_ns, group->runqueue_ns, group->wall_ns);
    free(d.places);
}

/* As the summaries orders single threads, by what a group's threads did together. */
static int by_interest(const void *a, const void *b)
{
    const struct thread_group *x = a;
    const struct thread_group *y = b;
    if (x->launches != y->launches)
        return x->launches ? 1 : -1;
    if (x->odd != y->odd)
        return x->odd ? -1 : 1;
    if (x->leads != y->leads)
        return x->leads ? -1 : 1;
    if (x->idle != y->idle)
        return x->idle ? 1 : -1;
    if (x->active_ns != y->active_ns && !x->idle)
        return x->active_ns > y->active_ns ? -1 : 1;
    return by_age(x->threads, y->threads);
}

/* The first process's main thread leads; where that only launches others, that of the oldest of
 * those. */
static void choose_leader(struct groups *g)
{
    struct thread_group *first = NULL;
    for (size_t i = 0; i < g->n; i++) {
        struct thread_group *group = &g->items[i];
        if (group->leads && !group->launches)
            return;
        group->leads = false;
        bool has_main = group->threads[0]->thread->main && !group->launches;
        if (has_main && (!first || by_age(group->threads, first->threads) < 0))
            first = group;
    }
    if (first)
        first->leads = true;
}

/* Are A and B the main threads of processes of one kind that work? */
static bool same_kind(const struct thread_group *a, const struct thread_group *b)
{
    return is_of_mains(a) && is_of_mains(b) && !a->launches && !b->launches &&
           str_eq(a->threads[0]->group, b->threads[0]->group);
}

/* Is G a single process, and are most of its kind in one other group? */
static bool is_odd(const struct groups *all, const struct thread_group *g)
{
    size_t n = 0;
    size_t most = 0;
    for (size_t i = 0; i < all->n && !g->mixed && g->n_threads == 1; i++) {
        const struct thread_group *other = &all->items[i];
        if (!same_kind(g, other))
            continue;
        n += other->n_threads;
        most = other != g && other->n_threads > most ? other->n_threads : most;
    }
    return most >= 2 && 2 * most > n;
}

void groups_init(struct groups *g, const struct profile *p, const struct view_options *options)
{
    struct view_options plain = *options;
    plain.lines = plain.internals = false;
    *g = (struct groups){.p = p, .v = view_new(p, &plain)};
    g->tree = call_tree_new(p, g->v);
    own_loops_mark(g->tree);
    own_spins_mark(g->tree, g->v);
    thread_summaries_init(&g->summaries, p, g->v);
    struct distribution *of_groups = xcalloc(g->summaries.n, sizeof *of_groups);
    for (size_t i = 0; i < g->summaries.n; i++) {
        const struct profile_thread *t = g->summaries.threads[i].thread;
        map_put(&g->pids, (uint32_t)profile_see_process(p, t->process)->pid, i);
        place_thread(g, &g->summaries.threads[i], i < MAX_COMPARED, of_groups);
    }
    for (size_t i = 0; i < g->n; i++) {
        free(of_groups[i].places);
        name_group(&g->items[i], p);
    }
    launchers_mark(g);
    choose_leader(g);
    for (size_t i = 0; i < g->n; i++)
        g->items[i].odd = is_odd(g, &g->items[i]);
    free(of_groups);
    if (g->n)
        qsort(g->items, g->n, sizeof *g->items, by_interest);
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->items[i].n; k++)
            map_put(&g->by_thread, (uintptr_t)g->items[i].threads[k]->thread, i);
    for (size_t i = 0; i < g->n; i++) {
        struct thread_group *group = &g->items[i];
        group_times_sum(group, g->tree);
        if (!group->idle)
            group->n_paths = call_paths_heaviest(&group->tally, group->paths, GROUP_MAX_PATHS);
    }
}

struct thread_group groups_one_of(const struct groups *g, const struct thread_group *group,
                                  size_t i)
{
    struct thread_group one = {.odd = group->odd, .launches = group->launches};
    tally_init(&one.tally, g->tree, TALLY_ALL);
    join(&one, group->threads[i]);
    one.leads = group->leads; /* by what all its threads do: choose_leader() */
    name_group(&one, g->p);
    group_times_sum(&one, g->tree);
    return one;
}

void groups_release_one(struct thread_group *one)
{
    tally_release(&one->tally);
    free(one->threads);
    free(one->label);
    free(one->shape.brief);
    free(one->noun);
}

void groups_release(struct groups *g)
{
    for (size_t i = 0; i < g->n; i++) {
        for (size_t k = 0; k < g->items[i].n_paths; k++)
            call_path_release(&g->items[i].paths[k]);
        groups_release_one(&g->items[i]);
    }
    free(g->items);
    map_release(&g->by_thread);
    map_release(&g->pids);
    call_tree_free(g->tree);
    thread_summaries_release(&g->summaries);
    view_free(g->v);
    *g = (struct groups){0};
}

struct thread_group *groups_of(const struct groups *g, const struct profile_thread *thread)
{
    uint64_t group;
    return map_get(&g->by_thread, (uintptr_t)thread, &group) ? &g->items[group] : NULL;
}

struct thread_group *groups_of_children(const struct groups *g, process_id parent)
{
    struct thread_group *only = NULL;
    for (size_t i = 0; i < g->n; i++) {
        process_id process = g->items[i].threads[0]->thread->process;
        if (profile_see_process(g->p, process)->parent.ix != parent.ix)
            continue;
        if (only)
            return NULL;
        only = &g->items[i];
    }
    return only;
}

bool group_comes_and_goes(const struct groups *g, const struct thread_group *group)
{
    return group->wall_ns / (int64_t)group->n_threads < profile_end_ns(g->p) / 2;
}

struct thread_group *groups_main(const struct groups *g)
{
    size_t i = 0;
    while (i < g->n && !g->items[i].leads)
        i++;
    return i < g->n ? &g->items[i] : NULL;
}

const struct run *groups_last_run(const struct thread_group *group)
{
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        if (!t->ended && !t->n_folded && t->n_runs)
            return &t->runs[t->n_runs - 1];
    }
    return NULL;
}
