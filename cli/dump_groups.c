#include "cli/dump_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "cli/dump_places.h"
#include "cli/number_ranges.h"
#include "summary/idle.h"
#include "summary/short_name.h"
#include "summary/wait_class.h"

enum {
    ORDER_CIRCLE,
    ORDER_GONE,
    ORDER_BEHIND,
    ORDER_MAIN,
    ORDER_OTHER,
    ORDER_IDLE,
    ORDER_LAUNCHER,
};

/* ---- finding them ---- */

static int order_of(struct dump *d, size_t i)
{
    const struct dump_thread *t = &d->threads[i];
    size_t n = 0;
    const struct shown_frame *stack = view_stack(d->view, t->at, &n);
    bool linked = i < d->waits.n;
    if (linked && d->waits.items[i].cycle)
        return ORDER_CIRCLE;
    if (t->side.blocker.kind == BLOCKER_GONE)
        return ORDER_GONE;
    if (linked && d->waits.items[i].behind)
        return ORDER_BEHIND;
    if (dump_thread_launches(d, t))
        return ORDER_LAUNCHER;
    if (t->tid == t->pid || t->state != THREAD_BLOCKED || t->gil.gil == PY_GIL_HOLDING)
        return ORDER_MAIN;
    return idle_pool_wait(stack, n) ? ORDER_IDLE : ORDER_OTHER;
}

struct group_key {
    const char *state, *stack;
    int order;
};

static bool same_group(const void *item, const void *wanted)
{
    const struct dump_group *g = item;
    const struct group_key *key = wanted;
    return g->order == key->order && str_eq(g->state, key->state) && str_eq(g->stack.s, key->stack);
}

static void add_member(struct dump_groups *all, struct index *index, struct dump_group *made,
                       size_t thread)
{
    struct group_key key = {made->state, made->stack.s, made->order};
    uint64_t hash =
        hash_bytes(made->stack.s, made->stack.len) ^ hash_bytes(made->state, strlen(made->state));
    uint32_t at = index_find(index, hash, all->items, sizeof *all->items, same_group, &key);
    if (at == INDEX_NONE) {
        all->items = array_reserve(all->items, &all->capacity, all->n + 1, sizeof *all->items);
        at = (uint32_t)all->n;
        index_add(index, hash, at);
        all->items[all->n++] = *made;
    } else {
        free(made->state);
        text_release(&made->stack);
    }
    struct dump_group *g = &all->items[at];
    g->members = array_reserve(g->members, &g->capacity, g->n + 1, sizeof *g->members);
    g->members[g->n++] = thread;
}

static void add_thread(struct dump *d, size_t i, struct dump_groups *all, struct index *index)
{
    const struct dump_thread *t = &d->threads[i];
    struct dump_group g = {.order = order_of(d, i)};
    struct text state = {0};
    text_add(&state, "");
    dump_words_state(d, t, false, &state);
    if (d->style.twice)
        text_add(&state, t->ran ? " ran" : "");
    g.state = xstrdup(state.s);
    text_release(&state);
    text_add(&g.stack, "");
    if (t->sampled)
        dump_words_stack(d, t, &all->sources, &(struct dump_members){0}, &g.stack, g.hidden);
    add_member(all, index, &g, i);
}

static int by_order(const void *a, const void *b)
{
    const struct dump_group *x = a;
    const struct dump_group *y = b;
    if (x->order != y->order)
        return x->order - y->order;
    if (x->order == ORDER_MAIN && x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return x->members[0] < y->members[0] ? -1 : 1;
}

/* Threads in the same stack are one group, whatever the arguments. */
static void add_arguments(struct dump *d, struct dump_groups *all, struct dump_group *g)
{
    const struct dump_thread *t = &d->threads[g->members[0]];
    const struct dump_members members = {g->members, g->n};
    text_clear(&g->stack);
    text_add(&g->stack, "");
    if (t->sampled)
        dump_words_stack(d, t, &all->sources, &members, &g->stack, g->hidden);
}

void dump_groups_find(struct dump *d, struct dump_groups *ret)
{
    struct index index = {0};
    for (size_t i = 0; i < d->n; i++)
        add_thread(d, i, ret, &index);
    index_release(&index);
    for (size_t i = 0; i < ret->n; i++)
        add_arguments(d, ret, &ret->items[i]);
    if (ret->n)
        qsort(ret->items, ret->n, sizeof *ret->items, by_order);
}

void dump_groups_release(struct dump_groups *g)
{
    for (size_t i = 0; i < g->n; i++) {
        free(g->items[i].members);
        free(g->items[i].state);
        text_release(&g->items[i].stack);
    }
    free(g->items);
    source_lines_release(&g->sources);
    *g = (struct dump_groups){0};
}

/* ---- their first lines ---- */

static const struct dump_thread *member(const struct dump *d, const struct dump_group *g, size_t i)
{
    return &d->threads[g->members[i]];
}

/* The common part of their names: "worker-*", "main"; false: none. */
static bool add_common_name(const struct dump *d, const struct dump_group *g, struct text *out)
{
    struct text other = {0};
    bool same = true;
    text_add_group(out, member(d, g, 0)->called);
    for (size_t i = 1; i < g->n && same; i++) {
        const char *called = member(d, g, i)->called;
        if (str_eq(called, member(d, g, 0)->called))
            continue;
        text_clear(&other);
        text_add_group(&other, called);
        same = str_eq(other.s, out->s);
    }
    bool all = same;
    for (size_t i = 1; i < g->n && all; i++)
        all = str_eq(member(d, g, i)->called, member(d, g, 0)->called);
    if (all) {
        text_clear(out);
        text_add(out, member(d, g, 0)->called);
    }
    text_release(&other);
    return same;
}

static void add_label(const struct dump *d, const struct dump_group *g, struct text *out)
{
    enum { MOST_COLUMNS = 40 };
    struct text label = {0};
    struct text common = {0};
    if (g->n == 1)
        dump_thread_add_label(d, member(d, g, 0), true, &label);
    else if (add_common_name(d, g, &common))
        text_addf(&label, "%zu x %s", g->n, common.s);
    else
        text_addf(&label, "%zu threads", g->n);
    if (utf8_columns(label.s, label.len) > MOST_COLUMNS)
        text_add_cut(out, label.s, label.len, MOST_COLUMNS);
    else
        text_add(out, label.s);
    text_release(&label);
    text_release(&common);
}

struct group_counts {
    size_t ran, blocked, counted;
    int64_t cpu_ns, queue_ns;
};

static struct group_counts count(const struct dump *d, const struct dump_group *g)
{
    struct group_counts c = {0};
    for (size_t i = 0; i < g->n; i++) {
        const struct dump_thread *t = member(d, g, i);
        c.ran += t->ran;
        c.counted += t->counted && !t->ended;
        c.blocked += t->sampled && t->state == THREAD_BLOCKED;
        c.cpu_ns += t->cpu_ns;
        c.queue_ns += t->queue_ns;
    }
    return c;
}

/* Its share of the time on CPUs; negative: unknown, too little, or the look is too short for the
 * kernel's counts. */
static double cpu_share(const struct dump *d, const struct dump_group *g,
                        const struct group_counts *c)
{
    enum { LEAST_NS = 200 * NS_PER_MS };
    double share = (double)c->cpu_ns / ((double)d->look_ns * (double)g->n);
    return d->look_ns < LEAST_NS || c->counted < g->n || share < 0.01 ? -1 : fmin(share, 1);
}

/* Of threads that all ran, behind their STATE.  SAID: the dump's first line has that. */
static void add_ran(const struct dump *d, const struct dump_group *g, const struct group_counts *c,
                    bool said, const char *state, struct text *out)
{
    double share = cpu_share(d, g, c);
    bool blocked = c->blocked == g->n;
    bool queues = member(d, g, 0)->state == THREAD_RUNNABLE; /* they are all in one state */
    if (d->style.twice)
        text_add(out, ", ran between the looks");
    else if ((blocked || queues) && (share >= 0 || !said))
        text_add(out, share >= 0 ? ", ran" : ", ran meanwhile");
    else if (share >= 0 && strchr(state, ',')) /* "runs, holds the GIL" */
        text_add(out, ", on a CPU");
    if (share >= 0)
        text_addf(out, "%s %.0f%% of the time", d->style.twice ? "," : "", 100 * share);
    double waited = (double)c->queue_ns / ((double)d->look_ns * (double)g->n);
    if (share >= 0 && waited >= 0.1 && !queues)
        text_addf(out, ", waited for a CPU %.0f%%", 100 * fmin(waited, 1 - share));
}

/* How long they have done so, and who ran, where the first line of the dump does not say it. */
static void add_time(const struct dump *d, const struct dump_group *g, const char *state,
                     struct text *out)
{
    struct group_counts c = count(d, g);
    bool said = d->all_ran || (!d->any_ran && !d->style.twice);
    if (c.ran == g->n) {
        add_ran(d, g, &c, said, state, out);
    } else if (said) {
        return;
    } else if (c.blocked == g->n && !c.ran && c.counted == g->n) {
        text_add(out, ", for ");
        dump_words_time(d->look_ns, out);
        text_add(out, " or more");
    } else if (c.ran && (c.blocked == g->n || d->style.twice)) {
        text_addf(out, ", %zu of them ran meanwhile", c.ran);
    } else if (d->style.twice && c.counted == g->n) {
        text_add(out, ", did not run between the looks");
    }
}

/* Their state in words, with its numbers if these are the same for all. */
static void add_state(const struct dump *d, const struct dump_group *g, struct text *out)
{
    struct text first = {0};
    struct text other = {0};
    bool same = true;
    text_add(&first, "");
    dump_words_state(d, member(d, g, 0), true, &first);
    for (size_t i = 1; i < g->n && same; i++) {
        text_clear(&other);
        text_add(&other, "");
        dump_words_state(d, member(d, g, i), true, &other);
        same = str_eq(first.s, other.s);
    }
    if (!same) {
        text_clear(&first);
        text_add(&first, "");
        dump_words_state(d, member(d, g, 0), false, &first);
    }
    if (g->n > 1)
        dump_words_plural(first.s, out);
    else
        text_add(out, first.s);
    add_time(d, g, first.s, out);
    text_release(&first);
    text_release(&other);
}

/* "in rank 0-12, 14-63: "; nothing if not all members have a rank. */
static void add_ranks(const struct dump *d, const struct dump_group *g, size_t most,
                      struct text *out)
{
    long *ranks = xcalloc(g->n, sizeof *ranks);
    size_t n = 0;
    while (n < g->n && (ranks[n] = dump_thread_rank(d, member(d, g, n))) >= 0)
        n++;
    if (n == g->n) {
        text_add(out, "in rank ");
        number_ranges_add(ranks, n, most, out);
        text_add(out, ": ");
    }
    free(ranks);
}

static void add_names(const struct dump *d, const struct dump_group *g, size_t most,
                      struct text *out)
{
    for (size_t i = 0; i < g->n && i < most; i++) {
        text_add(out, i ? ", " : "");
        dump_thread_add_label(d, member(d, g, i), true, out);
    }
    if (g->n > most)
        text_addf(out, " and %zu more", g->n - most);
}

static void add_tids(const struct dump *d, const struct dump_group *g, size_t most,
                     struct text *out)
{
    long *tids = xcalloc(g->n, sizeof *tids);
    for (size_t i = 0; i < g->n; i++)
        tids[i] = member(d, g, i)->tid;
    number_ranges_add(tids, g->n, most, out);
    free(tids);
}

static void add_list(const struct dump *d, const struct dump_group *g, struct text *out)
{
    struct text line = {0};
    struct text common = {0};
    size_t most = d->style.full ? g->n : 8;
    text_add(&line, "");
    add_ranks(d, g, most, &line);
    if (add_common_name(d, g, &common))
        add_tids(d, g, most, &line);
    else
        add_names(d, g, most, &line);
    text_add(out, "  ");
    (void)text_add_wrapped(out, line.s, 2, 2, d->style.width);
    text_add(out, "\n");
    text_release(&line);
    text_release(&common);
}

/* "  over the look: 91% in topk ops.cc:12 > ioctl, 7% in load a.py:3" */
static void add_places(const struct dump *d, const struct dump_group *g, struct text *out)
{
    const struct dump_members members = {g->members, g->n};
    struct text places = {0};
    struct text line = {0};
    dump_places_add(d->places, d, &members, &places);
    if (places.len) {
        text_addf(&line, "  over the look: %s\n", places.s);
        (void)text_add_wrapped(out, line.s, 0, 4, d->style.width);
    }
    text_release(&places);
    text_release(&line);
}

/* "  Another session has that lock: …": what their wait means; nothing where that is not known. */
static void add_line_of_meaning(const struct dump *d, const struct dump_group *g, struct text *out)
{
    const struct dump_thread *t = member(d, g, 0);
    size_t n = 0;
    const struct shown_frame *stack = view_stack(d->view, t->at, &n);
    const char *meaning = t->state == THREAD_BLOCKED ? meaning_of_stack(stack, n) : NULL;
    if (!meaning)
        return;
    text_add(out, "  ");
    (void)text_add_wrapped(out, meaning, 2, 2, d->style.width);
    text_add(out, "\n");
}

void dump_groups_add_head(const struct dump *d, const struct dump_group *g, struct text *out)
{
    enum { STATE_COLUMN = 18, INDENT = 6 };
    struct text state = {0};
    size_t start = out->len;
    add_label(d, g, out);
    size_t used = utf8_columns(out->s + start, out->len - start);
    text_addf(out, "%*s", (int)(used + 1 < STATE_COLUMN ? STATE_COLUMN - used : 2), "");
    used = utf8_columns(out->s + start, out->len - start);
    text_add(&state, "");
    add_state(d, g, &state);
    (void)text_add_wrapped(out, state.s, used, used < 30 ? used : INDENT, d->style.width);
    text_add(out, "\n");
    if (g->n > 1)
        add_list(d, g, out);
    if (d->places)
        add_places(d, g, out);
    add_line_of_meaning(d, g, out);
    text_release(&state);
}
