#include "summary/finding.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "profile/strings.h"
#include "summary/seen.h"
#include "summary/short_path.h"
#include "summary/survey.h"

/* The table's columns: two spaces, the label, and right-aligned numbers under their headings. */
enum {
    LABEL_MIN = 15,
    LABEL_MAX = 20,
    RUN_COLUMNS = 5,
    WAIT_COLUMNS = 10,
    BLOCKED_COLUMNS = 9,
    PART_MAX = 40,     /* of one name in a path */
    MARKED_BELOW = 90, /* percent of a row's time that were seen */
};

/* Short paths by stack: without lines (what is grouped) and with (what is shown). */
struct short_stack {
    string_id path, shown;
};

struct row {
    struct text label;
    const char *group;
    bool leads, idle;
    string_id path, shown;
    size_t n_threads, order; /* order: of its first thread */
    int64_t wall_ns, active_ns, cpu_ns, runqueue_ns, path_ns, seen_ns;
};

struct finding {
    const struct profile *p;
    struct view *v;
    struct survey survey;
    struct strings texts;
    struct short_stack *stacks;  /* by stack − 1; path none: not looked at */
    int64_t *path_ns, *shown_ns; /* by text; all 0 between two threads */
    size_t n_sums;
    struct row *rows;
    size_t n_rows, rows_capacity;
    struct index by_key; /* rows, by what their threads share */
};

/* ---- what each thread mostly does ---- */

static string_id short_text(struct finding *f, const struct shown_frame *stack, size_t n,
                            bool lines)
{
    struct text t = {0};
    text_add(&t, "");
    short_path_add(&t, stack, n, lines);
    string_id id = strings_add(&f->texts, t.s, t.len);
    text_release(&t);
    return id;
}

static const struct short_stack *short_stack(struct finding *f, stack_id s)
{
    struct short_stack *known = &f->stacks[s.ix - 1];
    if (!known->path.ix) {
        size_t n = 0;
        const struct shown_frame *stack = view_stack(f->v, s, &n);
        *known =
            (struct short_stack){short_text(f, stack, n, false), short_text(f, stack, n, true)};
    }
    return known;
}

static void grow_sums(struct finding *f)
{
    size_t n = f->texts.n + 1;
    if (n <= f->n_sums)
        return;
    n += n / 2; /* many threads add a text each */
    f->path_ns = xrealloc(f->path_ns, n * sizeof *f->path_ns);
    f->shown_ns = xrealloc(f->shown_ns, n * sizeof *f->shown_ns);
    memset(f->path_ns + f->n_sums, 0, (n - f->n_sums) * sizeof *f->path_ns);
    memset(f->shown_ns + f->n_sums, 0, (n - f->n_sums) * sizeof *f->shown_ns);
    f->n_sums = n;
}

/* The biggest path of T and of its variants by line the biggest; RET_NS: of the path. */
static struct short_stack biggest_path(struct finding *f, const struct profile_thread *t,
                                       int64_t *ret_ns)
{
    for (size_t i = 0; i < t->n_runs; i++)
        if (t->runs[i].stack.ix)
            (void)short_stack(f, t->runs[i].stack);
    grow_sums(f);
    int64_t *ns = f->path_ns;
    int64_t *shown_ns = f->shown_ns;
    struct short_stack best = {{0}, {0}};
    for (size_t i = 0; i < t->n_runs; i++) {
        if (!t->runs[i].stack.ix)
            continue;
        const struct short_stack *s = short_stack(f, t->runs[i].stack);
        ns[s->path.ix] += t->runs[i].weights.wall_ns;
        shown_ns[s->shown.ix] += t->runs[i].weights.wall_ns;
        if (ns[s->path.ix] > ns[best.path.ix])
            best.path = s->path;
    }
    for (size_t i = 0; i < t->n_runs && best.path.ix; i++) {
        if (!t->runs[i].stack.ix)
            continue;
        const struct short_stack *s = short_stack(f, t->runs[i].stack);
        if (s->path.ix == best.path.ix && shown_ns[s->shown.ix] > shown_ns[best.shown.ix])
            best.shown = s->shown;
    }
    *ret_ns = ns[best.path.ix];
    for (size_t i = 0; i < t->n_runs; i++)
        if (t->runs[i].stack.ix) {
            const struct short_stack *s = short_stack(f, t->runs[i].stack);
            ns[s->path.ix] = shown_ns[s->shown.ix] = 0;
        }
    return best;
}

/* ---- rows ---- */

/* What the threads of a row share. */
struct row_key {
    const struct finding *f;
    const char *group;
    bool idle;
    string_id path;
};

static bool is_row(const void *ctx, uint32_t item)
{
    const struct row_key *key = ctx;
    const struct row *row = &key->f->rows[item];
    return row->idle == key->idle && row->path.ix == key->path.ix && str_eq(row->group, key->group);
}

/* The row for threads that are called and do the same as T; a new one if there is none. */
static struct row *row_of(struct finding *f, const struct surveyed *t, struct short_stack path)
{
    struct row_key key = {f, t->group, t->idle, path.path};
    uint64_t hash =
        hash_bytes(t->group, strlen(t->group)) ^ hash_u64((uint64_t)path.path.ix << 1 | t->idle);
    uint32_t item = index_find(&f->by_key, hash, is_row, &key);
    if (item != INDEX_NONE)
        return &f->rows[item];
    f->rows = array_reserve(f->rows, &f->rows_capacity, f->n_rows + 1, sizeof *f->rows);
    f->rows[f->n_rows] = (struct row){.group = t->group,
                                      .idle = t->idle,
                                      .path = path.path,
                                      .shown = path.shown,
                                      .order = f->n_rows};
    index_add(&f->by_key, hash, (uint32_t)f->n_rows);
    return &f->rows[f->n_rows++];
}

static void add_thread(struct finding *f, const struct surveyed *t)
{
    int64_t path_ns = 0;
    struct short_stack path = biggest_path(f, t->thread, &path_ns);
    if (t->pool_wait) {
        struct text clean = {0};
        text_add_tame(&clean, t->pool_wait, strlen(t->pool_wait));
        path.path = path.shown = strings_add(&f->texts, clean.s, clean.len);
        text_release(&clean);
    }
    struct row *row = row_of(f, t, path);
    if (!row->n_threads)
        text_add_tame(&row->label, t->label, strlen(t->label));
    row->leads |= t->leads;
    row->n_threads += t->n_threads;
    row->wall_ns += t->wall_ns;
    row->active_ns += t->active_ns;
    row->cpu_ns += t->cpu_ns;
    row->runqueue_ns += t->runqueue_ns;
    row->path_ns += path_ns;
    row->seen_ns += (int64_t)(seen_of_thread(t) * (double)t->wall_ns);
    if (row->n_threads > 1) {
        text_clear(&row->label);
        text_addf(&row->label, "%zu x ", row->n_threads);
        text_add_tame(&row->label, t->group, strlen(t->group));
    }
}

/* As the survey's order of single threads, by what a row's threads did together: the culprit may be a task that each of many
 * threads does once. */
static int by_interest(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    if (x->leads != y->leads)
        return x->leads ? -1 : 1;
    if (x->idle != y->idle)
        return y->idle ? -1 : 1;
    if (x->active_ns != y->active_ns && !x->idle)
        return x->active_ns > y->active_ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Sums up the rows past the limit in the last one that fits. */
static void limit_rows(struct finding *f)
{
    if (f->n_rows <= FINDING_MAX_ROWS)
        return;
    struct row *rest = &f->rows[FINDING_MAX_ROWS - 1];
    for (size_t i = FINDING_MAX_ROWS; i < f->n_rows; i++) {
        rest->n_threads += f->rows[i].n_threads;
        rest->wall_ns += f->rows[i].wall_ns;
        rest->cpu_ns += f->rows[i].cpu_ns;
        rest->runqueue_ns += f->rows[i].runqueue_ns;
        text_release(&f->rows[i].label);
    }
    rest->shown = (string_id){0};
    text_clear(&rest->label);
    text_addf(&rest->label, "%zu more threads", rest->n_threads);
    f->n_rows = FINDING_MAX_ROWS;
}

/* ---- the text ---- */

/* Of UTF-8: bytes that start a character. */
static size_t columns(const char *s, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)s[i] & 0xc0) != 0x80;
    return n;
}

/* Appends S, at most MAX columns of it, the last one then "…". */
static void add_cut(struct text *out, const char *s, size_t len, size_t max)
{
    size_t cut = 0;
    size_t n = 0;
    if (columns(s, len) <= max) {
        text_add_bytes(out, s, len);
        return;
    }
    for (; cut < len; cut++) {
        n += ((unsigned char)s[cut] & 0xc0) != 0x80;
        if (n == max)
            break;
    }
    text_add_bytes(out, s, cut);
    text_add(out, "…");
}

static void add_spaces(struct text *out, size_t n)
{
    text_addf(out, "%*s", (int)n, "");
}

/* Starts a second line for TAIL: under the path if it fits there, else as far left as it must. */
static void add_second_line(struct text *out, const struct text *tail, size_t column, size_t width)
{
    size_t len = columns(tail->s, tail->len);
    size_t indent = column + len <= width ? column : 4;
    if (indent == 4 && len + 4 <= width)
        indent = width - len;
    text_add(out, "\n");
    add_spaces(out, indent);
    add_cut(out, tail->s, tail->len, width - indent);
}

/* Splits PATH, one part a line, each cut to its maximum.  The caller releases the parts. */
static size_t split_path(const char *path, size_t first_max,
                         struct text ret_parts[SHORT_PATH_MAX_PARTS])
{
    size_t n = 0;
    for (; *path && n < SHORT_PATH_MAX_PARTS; n++) {
        size_t len = strcspn(path, "\n");
        ret_parts[n] = (struct text){0};
        add_cut(&ret_parts[n], path, len, n || first_max > PART_MAX ? PART_MAX : first_max);
        path += len + (path[len] != '\0');
    }
    return n;
}

/* Appends PATH, which begins at COLUMN behind a head of USED columns, in at most two lines. */
static void add_path(struct text *out, const char *path, size_t column, size_t used, size_t width)
{
    struct text parts[SHORT_PATH_MAX_PARTS];
    struct text tail = {0};
    size_t at = column + used;
    size_t n = split_path(path, width - at - strlen(" >"), parts);
    for (size_t i = 0; i < n; i++) {
        size_t need = (i ? strlen(" ") : 0) + columns(parts[i].s, parts[i].len) +
                      (i + 1 < n ? strlen(" >") : 0);
        if (!tail.len && at + need <= width)
            text_addf(out, "%s%s%s", i ? " " : "", parts[i].s, i + 1 < n ? " >" : "");
        else
            text_addf(&tail, "%s%s", tail.len ? " > " : "", parts[i].s);
        at += need;
        text_release(&parts[i]);
    }
    if (tail.len)
        add_second_line(out, &tail, column, width);
    text_release(&tail);
}

static int percent(int64_t part_ns, int64_t whole_ns)
{
    return whole_ns > 0 ? (int)(((double)part_ns * 100 / (double)whole_ns) + 0.5) : 0;
}

static void add_row(struct finding *f, const struct row *row, size_t label_columns, size_t width,
                    struct text *out)
{
    int run = percent(row->cpu_ns, row->wall_ns);
    int waiting = percent(row->cpu_ns + row->runqueue_ns, row->wall_ns) - run;
    size_t label_len = columns(row->label.s, row->label.len);
    text_add(out, "  ");
    add_cut(out, row->label.s, row->label.len, label_columns);
    add_spaces(out, label_len < label_columns ? label_columns - label_len : 0);
    text_addf(out, "%*d%%%*d%%%*d%%", RUN_COLUMNS - 1, run, WAIT_COLUMNS - 1, waiting,
              BLOCKED_COLUMNS - 1, 100 - run - waiting);
    if (row->shown.ix) {
        size_t before = out->len;
        text_add(out, "  ");
        bool partial = profile_number(f->p, METRIC_STACKS_LEFT_OUT) > 0; /* --gil */
        if (!row->idle && !partial && percent(row->seen_ns, row->wall_ns) < MARKED_BELOW)
            text_addf(out, "(%d%% seen) ", percent(row->seen_ns, row->wall_ns));
        if (row->idle)
            text_add(out, "idle: ");
        else
            text_addf(out, "%d%% ", percent(row->path_ns, row->wall_ns));
        size_t used = out->len - before - 2;
        size_t column = 2 + label_columns + RUN_COLUMNS + WAIT_COLUMNS + BLOCKED_COLUMNS + 2;
        add_path(out, strings_text(&f->texts, row->shown), column, used, width);
    }
    text_add(out, "\n");
}

static void add_table(struct finding *f, size_t width, struct text *out)
{
    size_t label_columns = LABEL_MIN;
    for (size_t i = 0; i < f->n_rows; i++) {
        size_t need = columns(f->rows[i].label.s, f->rows[i].label.len);
        label_columns = need > label_columns ? need : label_columns;
    }
    label_columns = label_columns < LABEL_MAX ? label_columns : LABEL_MAX;
    /* With --gil what a thread did without the GIL is not known: it need not have been blocked. */
    const char *rest = profile_number(f->p, METRIC_STACKS_LEFT_OUT) > 0 ? "rest" : "blocked";
    text_addf(out, "  %-*s%*s%*s%*s  biggest path%s\n", (int)label_columns, "thread", RUN_COLUMNS,
              "run", WAIT_COLUMNS, "wait-cpu", BLOCKED_COLUMNS, rest,
              label_columns + 61 <= width ? " (% of its wall time)" : "");
    for (size_t i = 0; i < f->n_rows; i++)
        add_row(f, &f->rows[i], label_columns, width, out);
}

void finding_write(const struct profile *p, const struct view_options *options, int width,
                   struct text *out)
{
    assert(width >= FINDING_MIN_WIDTH);
    struct finding f = {.p = p, .v = view_new(p, options)};
    f.stacks = xcalloc(profile_stack_count(p), sizeof *f.stacks);
    survey_init(&f.survey, p, f.v);
    for (size_t i = 0; i < f.survey.n; i++)
        add_thread(&f, &f.survey.threads[i]);
    if (f.n_rows)
        qsort(f.rows, f.n_rows, sizeof *f.rows, by_interest);
    limit_rows(&f);
    if (f.n_rows)
        add_table(&f, (size_t)width, out);
    for (size_t i = 0; i < f.n_rows; i++)
        text_release(&f.rows[i].label);
    free(f.rows);
    index_release(&f.by_key);
    free(f.path_ns);
    free(f.shown_ns);
    free(f.stacks);
    survey_release(&f.survey);
    strings_release(&f.texts);
    view_free(f.v);
}
