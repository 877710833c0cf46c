#include "summary/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "profile/strings.h"
#include "summary/seen.h"
#include "summary/survey.h"

/* Short paths by stack: without lines (what is grouped) and with (what is shown). */
struct short_stack {
    string_id path, shown;
};

/* A row while threads are added to it. */
struct draft {
    struct text label;
    const char *group;
    bool leads, idle;
    string_id path, shown;
    size_t n_threads, order; /* order: of its first thread */
    int64_t wall_ns, active_ns, cpu_ns, runqueue_ns, path_ns, seen_ns;
};

struct builder {
    struct view *v;
    struct strings texts;
    struct short_stack *stacks;  /* by stack − 1; path none: not looked at */
    int64_t *path_ns, *shown_ns; /* by text; all 0 between two threads */
    size_t n_sums;
    struct draft *drafts;
    size_t n, capacity;
    struct index by_key; /* drafts, by what their threads share */
};

/* ---- what each thread mostly does ---- */

static string_id short_text(struct builder *b, const struct shown_frame *stack, size_t n,
                            bool lines)
{
    struct text t = {0};
    text_add(&t, "");
    short_path_add(&t, stack, n, lines);
    string_id id = strings_add(&b->texts, t.s, t.len);
    text_release(&t);
    return id;
}

static const struct short_stack *short_stack(struct builder *b, stack_id s)
{
    struct short_stack *known = &b->stacks[s.ix - 1];
    if (!known->path.ix) {
        size_t n = 0;
        const struct shown_frame *stack = view_stack(b->v, s, &n);
        *known =
            (struct short_stack){short_text(b, stack, n, false), short_text(b, stack, n, true)};
    }
    return known;
}

static void grow_sums(struct builder *b)
{
    size_t n = b->texts.n + 1;
    if (n <= b->n_sums)
        return;
    n += n / 2; /* many threads add a text each */
    b->path_ns = xrealloc(b->path_ns, n * sizeof *b->path_ns);
    b->shown_ns = xrealloc(b->shown_ns, n * sizeof *b->shown_ns);
    memset(b->path_ns + b->n_sums, 0, (n - b->n_sums) * sizeof *b->path_ns);
    memset(b->shown_ns + b->n_sums, 0, (n - b->n_sums) * sizeof *b->shown_ns);
    b->n_sums = n;
}

/* Adds up the time of T by text.  Returns the path with most, none without stacks. */
static string_id add_times(struct builder *b, const struct profile_thread *t)
{
    string_id best = {0};
    for (size_t i = 0; i < t->n_runs; i++) {
        if (!t->runs[i].stack.ix)
            continue;
        const struct short_stack *s = short_stack(b, t->runs[i].stack);
        grow_sums(b);
        b->path_ns[s->path.ix] += t->runs[i].weights.wall_ns;
        b->shown_ns[s->shown.ix] += t->runs[i].weights.wall_ns;
        if (b->path_ns[s->path.ix] > b->path_ns[best.ix])
            best = s->path;
    }
    return best;
}

/* Of the variants of PATH by line the one with most time. */
static string_id biggest_variant(struct builder *b, const struct profile_thread *t, string_id path)
{
    string_id best = {0};
    for (size_t i = 0; i < t->n_runs && path.ix; i++) {
        if (!t->runs[i].stack.ix)
            continue;
        const struct short_stack *s = short_stack(b, t->runs[i].stack);
        if (s->path.ix == path.ix && b->shown_ns[s->shown.ix] > b->shown_ns[best.ix])
            best = s->shown;
    }
    return best;
}

static void clear_times(struct builder *b, const struct profile_thread *t)
{
    for (size_t i = 0; i < t->n_runs; i++) {
        if (!t->runs[i].stack.ix)
            continue;
        const struct short_stack *s = short_stack(b, t->runs[i].stack);
        b->path_ns[s->path.ix] = b->shown_ns[s->shown.ix] = 0;
    }
}

/* The biggest path of T; RET_NS: its time. */
static struct short_stack biggest_path(struct builder *b, const struct profile_thread *t,
                                       int64_t *ret_ns)
{
    string_id path = add_times(b, t);
    struct short_stack best = {path, biggest_variant(b, t, path)};
    *ret_ns = path.ix ? b->path_ns[path.ix] : 0;
    clear_times(b, t);
    return best;
}

/* ---- rows ---- */

/* The threads of a row share these. */
static bool same_draft(const void *item, const void *wanted)
{
    const struct draft *a = item;
    const struct draft *b = wanted;
    return a->idle == b->idle && a->path.ix == b->path.ix && str_eq(a->group, b->group);
}

/* The row for threads that are called and do the same as T; a new one if there is none. */
static struct draft *draft_of(struct builder *b, const struct surveyed *t, struct short_stack path)
{
    const struct draft wanted = {
        .group = t->group, .idle = t->idle, .path = path.path, .shown = path.shown, .order = b->n};
    uint64_t hash =
        hash_bytes(t->group, strlen(t->group)) ^ hash_u64((uint64_t)path.path.ix << 1 | t->idle);
    uint32_t item = index_find(&b->by_key, hash, b->drafts, sizeof *b->drafts, same_draft, &wanted);
    if (item != INDEX_NONE)
        return &b->drafts[item];
    b->drafts = array_reserve(b->drafts, &b->capacity, b->n + 1, sizeof *b->drafts);
    b->drafts[b->n] = wanted;
    index_add(&b->by_key, hash, (uint32_t)b->n);
    return &b->drafts[b->n++];
}

static string_id tame_text(struct builder *b, const char *s)
{
    struct text clean = {0};
    text_add_tame(&clean, s, strlen(s));
    string_id id = strings_add(&b->texts, clean.s, clean.len);
    text_release(&clean);
    return id;
}

static void set_label(struct draft *d, const struct surveyed *t)
{
    const char *name = d->n_threads > 1 ? t->group : t->label;
    text_clear(&d->label);
    if (d->n_threads > 1)
        text_addf(&d->label, "%zu x ", d->n_threads);
    text_add_tame(&d->label, name, strlen(name));
}

static void add_thread(struct builder *b, const struct surveyed *t)
{
    int64_t path_ns = 0;
    struct short_stack path = biggest_path(b, t->thread, &path_ns);
    if (t->pool_wait)
        path.path = path.shown = tame_text(b, t->pool_wait);
    struct draft *d = draft_of(b, t, path);
    d->leads |= t->leads;
    d->n_threads += t->n_threads;
    d->wall_ns += t->wall_ns;
    d->active_ns += t->active_ns;
    d->cpu_ns += t->cpu_ns;
    d->runqueue_ns += t->runqueue_ns;
    d->path_ns += path_ns;
    d->seen_ns += (int64_t)(seen_of_thread(t) * (double)t->wall_ns);
    set_label(d, t);
}

/* As the survey's order of single threads, by what a row's threads did together: the culprit may
 * be a task that each of many threads does once. */
static int by_interest(const void *a, const void *b)
{
    const struct draft *x = a;
    const struct draft *y = b;
    if (x->leads != y->leads)
        return x->leads ? -1 : 1;
    if (x->idle != y->idle)
        return y->idle ? -1 : 1;
    if (x->active_ns != y->active_ns && !x->idle)
        return x->active_ns > y->active_ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Sums up the rows past the limit in the last one that fits. */
static void limit_rows(struct builder *b, size_t max)
{
    if (b->n <= max)
        return;
    struct draft *rest = &b->drafts[max - 1];
    for (size_t i = max; i < b->n; i++) {
        rest->n_threads += b->drafts[i].n_threads;
        rest->wall_ns += b->drafts[i].wall_ns;
        rest->cpu_ns += b->drafts[i].cpu_ns;
        rest->runqueue_ns += b->drafts[i].runqueue_ns;
        rest->seen_ns += b->drafts[i].seen_ns;
        text_release(&b->drafts[i].label);
    }
    rest->shown = (string_id){0};
    rest->path_ns = 0;
    text_clear(&rest->label);
    text_addf(&rest->label, "%zu more threads", rest->n_threads);
    b->n = max;
}

/* ---- the table ---- */

/* PATH has one part a line, and one at least. */
static void split_path(struct table_row *row, const char *path)
{
    char *at = row->path = xstrdup(path);
    while (at && (*at || !row->n_parts) && row->n_parts < SHORT_PATH_MAX_PARTS)
        row->parts[row->n_parts++] = strsep(&at, "\n");
}

/* Takes the label of D. */
static struct table_row finish_row(const struct builder *b, const struct draft *d)
{
    struct table_row row = {.label = d->label.s,
                            .n_threads = d->n_threads,
                            .wall_ns = d->wall_ns,
                            .cpu_ns = d->cpu_ns,
                            .runqueue_ns = d->runqueue_ns,
                            .seen_ns = d->seen_ns,
                            .idle = d->idle,
                            .path_ns = d->path_ns};
    if (d->shown.ix)
        split_path(&row, strings_text(&b->texts, d->shown));
    return row;
}

static void release_builder(struct builder *b)
{
    free(b->drafts);
    index_release(&b->by_key);
    free(b->path_ns);
    free(b->shown_ns);
    free(b->stacks);
    strings_release(&b->texts);
    view_free(b->v);
}

void table_init(struct table *t, const struct profile *p, const struct view_options *options,
                size_t max_rows)
{
    struct builder b = {.v = view_new(p, options)};
    struct survey survey;
    assert(max_rows > 0);
    b.stacks = xcalloc(profile_stack_count(p), sizeof *b.stacks);
    survey_init(&survey, p, b.v);
    for (size_t i = 0; i < survey.n; i++)
        add_thread(&b, &survey.threads[i]);
    if (b.n)
        qsort(b.drafts, b.n, sizeof *b.drafts, by_interest);
    limit_rows(&b, max_rows);
    *t = (struct table){.rows = xcalloc(b.n, sizeof *t->rows),
                        .partial = profile_number(p, METRIC_STACKS_LEFT_OUT) > 0};
    for (; t->n < b.n; t->n++)
        t->rows[t->n] = finish_row(&b, &b.drafts[t->n]);
    survey_release(&survey);
    release_builder(&b);
}

void table_release(struct table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->rows[i].label);
        free(t->rows[i].path);
    }
    free(t->rows);
    *t = (struct table){0};
}
