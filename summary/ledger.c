#include "summary/ledger.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "base/share.h"
#include "summary/heaviest_paths.h"
#include "summary/kernel_work.h"
#include "summary/leader.h"
#include "summary/ledger_account.h"
#include "summary/ledger_bound.h"

enum { MAX_PATHS = 5 };

/* ---- rows ---- */

/* Of some waits the one with most time. */
struct most_waited {
    struct spot at;
    int64_t ns;
    pid_t waiter; /* its process */
};

/* What the runs in one row's place are about. */
struct row_sums {
    int64_t ns[CAUSE_KINDS];
    double kernel_ns[CAUSE_KINDS];        /* within what it computes */
    double answers, answers_ns;           /* within CAUSE_PEER, of code that passes data */
    struct map by_wait;                   /* time by cause and the wait's id */
    struct most_waited most[CAUSE_KINDS]; /* of the waits of each cause */
    struct intervals *times;              /* of each span */
};

static void add_wait(struct row_sums *sums, enum cause cause, struct spot at, pid_t pid, int64_t ns)
{
    const uint64_t key = (uint64_t)cause << 32 | at.wait.ix;
    uint64_t before = 0;
    (void)map_get(&sums->by_wait, key, &before);
    int64_t now_ns = (int64_t)before + ns;
    map_put(&sums->by_wait, key, (uint64_t)now_ns);
    if (now_ns > sums->most[cause].ns)
        sums->most[cause] = (struct most_waited){at, now_ns, pid};
}

/* The span that is summed up. */
struct span_of {
    size_t i;
    const struct profile_thread *thread;
    struct kernel_work work;
};

/* Adds PART of RUN, in the span OF, to ROW. */
static void sum_run(const struct accounts *a, const struct span_of *of, const struct run *run,
                    struct interval part, struct row_sums *row)
{
    int64_t ns = part.end_ns - part.start_ns;
    enum cause cause = cause_of_run(a->g->tree, a->g->v, run);
    row->ns[cause] += ns;
    row->kernel_ns[of->work.faults] += kernel_work_ns(&of->work, run, ns);
    if (cause == CAUSE_PEER && waits_for_message(a->g->tree, a->g->v, run)) {
        row->answers += run->weights.events.switches * share_of(ns, run->weights.wall_ns);
        row->answers_ns += (double)ns;
    }
    if (run->at.wait.ix && run->state == RUN_BLOCKED) /* who waits for a CPU has a wait, too */
        add_wait(row, cause, run->at, profile_see_process(a->g->p, of->thread->process)->pid, ns);
    intervals_join(&row->times[of->i], part);
}

/* The path that RUN's time is in; 0: none of them, or it waits for work. */
static uint32_t path_of(const struct accounts *a, const struct run *run, const uint32_t *paths)
{
    uint32_t node = run->state == RUN_MISSED ? 0 : call_tree_of(a->g->tree, run->at);
    return call_tree_node(a->g->tree, node).idle ? 0 : paths[node];
}

/* Adds span I of ACCOUNT to the SUMS of those rows whose paths its runs are in. */
static void sum_span(const struct accounts *a, const struct account *account, size_t i,
                     const uint32_t *paths, struct row_sums *sums)
{
    const struct time_span *span = &account->tally.spans[i];
    const struct span_of of = {
        .i = i, .thread = span->thread, .work = kernel_work_of(a->g, span->thread)};
    for (struct run_parts p = time_span_parts(span); run_parts_next(&p);) {
        uint32_t path = path_of(a, p.run, paths);
        if (path)
            sum_run(a, &of, p.run, p.when, &sums[path - 1]);
    }
}

static void row_sums_release(struct row_sums *sums, size_t n_spans)
{
    for (size_t i = 0; i < n_spans; i++)
        intervals_release(&sums->times[i]);
    free(sums->times);
    map_release(&sums->by_wait);
}

/* Of one place computing and waiting for a CPU are one: whoever takes the CPUs, that is what it is
 * for. */
static enum cause kind_of(enum cause cause)
{
    return cause == CAUSE_CPU ? CAUSE_COMPUTES : cause;
}

static enum cause most_of(const int64_t ns[CAUSE_KINDS])
{
    enum cause most = CAUSE_UNKNOWN;
    for (int cause = 0; cause < CAUSE_KINDS; cause++)
        most = ns[cause] > ns[most] ? (enum cause)cause : most;
    return most;
}

/* The time of each kind of cause; what is less than a tenth of all goes to the largest. */
static void sum_kinds(const int64_t ns[CAUSE_KINDS], int64_t ret[CAUSE_KINDS])
{
    int64_t all_ns = 0;
    for (int cause = 0; cause < CAUSE_KINDS; cause++) {
        ret[kind_of((enum cause)cause)] += ns[cause];
        all_ns += ns[cause];
    }
    enum cause most = most_of(ret);
    for (int cause = 0; cause < CAUSE_KINDS; cause++)
        if (cause != (int)most && ret[cause] < all_ns / 10) {
            ret[most] += ret[cause];
            ret[cause] = 0;
        }
}

/* Takes the kernel's work out of what SUMS' place computes. */
static void part_kernel_work(struct row_sums *sums)
{
    for (int cause = 0; cause < CAUSE_KINDS; cause++) {
        int64_t ns = min_i64((int64_t)sums->kernel_ns[cause], sums->ns[CAUSE_COMPUTES]);
        sums->ns[cause] += ns;
        sums->ns[CAUSE_COMPUTES] -= ns;
    }
}

/* Waits for answers that are shorter than it takes to pass a message are the price of messages: the
 * other side does nothing else in them. */
static void book_messages(struct row_sums *sums)
{
    static const double message_ns = 100000; /* two switches, and a small object in Python */
    if (sums->answers_ns >= message_ns * sums->answers)
        return;
    sums->ns[CAUSE_PICKLES] += (int64_t)sums->answers_ns;
    sums->ns[CAUSE_PEER] -= (int64_t)sums->answers_ns;
}

/* Sets in ROW where the leaders wait while its place has their time. */
static void find_waits(const struct accounts *a, const struct account *account,
                       const struct row_sums *sums, struct ledger_row *row)
{
    struct account waits = {.group = account->group};
    struct row_sums of_waits = {.times = NULL};
    size_t n = account->tally.n_spans;
    tally_init(&waits.tally, a->g->tree, TALLY_ALL);
    for (size_t i = 0; i < n; i++)
        if (sums->times[i].n)
            account_add(&waits, account->leaders[i], account->leaders[i], &sums->times[i]);
    of_waits.times = xcalloc(n, sizeof *of_waits.times);
    uint32_t *paths = xcalloc(call_tree_count(a->g->tree) + (size_t)1, sizeof *paths);
    if (call_paths_with_nodes(&waits.tally, &row->waits, 1, paths)) {
        for (size_t i = 0; i < waits.tally.n_spans; i++)
            sum_span(a, &waits, i, paths, &of_waits);
        row->waits_cause = most_of(of_waits.ns);
        const struct most_waited *most = &of_waits.most[row->waits_cause];
        if (most->ns > 0)
            row->via = *holders_side(a->h, most->at);
        row->via_waiter = most->waiter;
    }
    free(paths);
    row_sums_release(&of_waits, n);
    tally_release(&waits.tally);
    free(waits.leaders);
}

/* Of several threads that are busy meanwhile each stands for its part of the wait. */
static int64_t scaled(const struct account *account, int64_t ns)
{
    return (int64_t)(((double)account->ns * share_of(ns, account->tally.all_ns)) + 0.5);
}

/* KIND: of cause; its time is NS.  OF_PLACE: what the rows of one place have in common. */
static void add_row(struct ledger *l, const struct accounts *a, const struct account *account,
                    const struct ledger_row *of_place, const struct row_sums *sums, enum cause kind,
                    int64_t ns)
{
    const struct most_waited *most = &sums->most[kind];
    bool computes = kind == CAUSE_COMPUTES && sums->ns[CAUSE_CPU] > sums->ns[CAUSE_COMPUTES];
    struct ledger_row row = *of_place;
    row.cause = computes ? CAUSE_CPU : kind;
    row.place = call_path_copy(&of_place->place);
    row.waits = call_path_copy(&of_place->waits);
    row.ns = scaled(account, ns);
    row.waiter = most->waiter;
    if (most->ns > 0)
        row.other = *holders_side(a->h, most->at);
    if (row.other.thing)
        row.other_ns = scaled(account, most->ns);
    l->rows = array_reserve(l->rows, &l->capacity, l->n + 1, sizeof *l->rows);
    l->rows[l->n++] = row;
    l->rest_ns -= row.ns;
}

static void add_kinds(struct ledger *l, const struct accounts *a, const struct account *account,
                      const struct call_path *place, const struct row_sums *sums)
{
    int64_t kinds[CAUSE_KINDS] = {0};
    struct ledger_row of_place = {.group = account->group, .way = account->way, .place = *place};
    sum_kinds(sums->ns, kinds);
    if (account->way != LEDGER_OWN)
        find_waits(a, account, sums, &of_place);
    for (int kind = 0; kind < CAUSE_KINDS; kind++)
        if (kinds[kind] > 0)
            add_row(l, a, account, &of_place, sums, (enum cause)kind, kinds[kind]);
    call_path_release(&of_place.waits);
}

static void add_rows(struct ledger *l, const struct accounts *a, struct account *account)
{
    struct call_path places[MAX_PATHS];
    struct row_sums sums[MAX_PATHS] = {{.times = NULL}};
    size_t n_spans = account->tally.n_spans;
    uint32_t *paths = xcalloc(call_tree_count(a->g->tree) + (size_t)1, sizeof *paths);
    size_t n = call_paths_with_nodes(&account->tally, places, MAX_PATHS, paths);
    int64_t idle_ns = scaled(account, account->tally.idle_ns);
    l->idle_ns += idle_ns;
    l->rest_ns += account->ns - idle_ns;
    for (size_t i = 0; i < n; i++)
        sums[i].times = xcalloc(n_spans, sizeof *sums[i].times);
    for (size_t i = 0; i < n_spans; i++)
        sum_span(a, account, i, paths, sums);
    for (size_t i = 0; i < n; i++) {
        part_kernel_work(&sums[i]);
        book_messages(&sums[i]);
        add_kinds(l, a, account, &places[i], &sums[i]);
        call_path_release(&places[i]);
        row_sums_release(&sums[i], n_spans);
    }
    free(paths);
}

static int by_ns(const void *a, const void *b)
{
    const struct ledger_row *x = a;
    const struct ledger_row *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return (x->place.node > y->place.node) - (x->place.node < y->place.node);
}

void ledger_init(struct ledger *l, const struct groups *g, struct holders *h)
{
    ledger_init_of(l, g, h, leader_of(g, h));
}

void ledger_init_of(struct ledger *l, const struct groups *g, struct holders *h,
                    struct thread_group *leader)
{
    *l = (struct ledger){.p = g->p, .leader = leader};
    if (!l->leader)
        return;
    struct accounts a;
    accounts_init(&a, g, h, l->leader);
    l->wall_ns = a.wall_ns;
    l->unseen_ns = a.unseen_ns;
    for (size_t i = 0; i < LEDGER_WAYS * g->n; i++)
        if (a.items[i].group && a.items[i].ns > 0)
            add_rows(l, &a, &a.items[i]);
    accounts_release(&a);
    ledger_set_bounds(g, l);
    if (l->n)
        qsort(l->rows, l->n, sizeof *l->rows, by_ns);
}

void ledger_release(struct ledger *l)
{
    for (size_t i = 0; i < l->n; i++) {
        call_path_release(&l->rows[i].place);
        call_path_release(&l->rows[i].waits);
    }
    free(l->rows);
    *l = (struct ledger){0};
}
