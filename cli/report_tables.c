#include "cli/report_tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/chosen.h"
#include "cli/report_waits.h"
#include "cli/stack_filter.h"
#include "summary/groups.h"
#include "summary/path_times.h"

enum { LABEL_COLUMNS = 24, MOST_ROWS = 40, NAME_COLUMNS = 20 };

static double seconds(int64_t ns)
{
    return (double)ns / NS_PER_S;
}

/* ---- threads ---- */

static void add_thread(const struct thread_summary *t, struct text *out)
{
    const struct profile_usage *u = &t->thread->usage;
    struct text label = {0};
    text_add(&label, "");
    short_label_add(&label, t->label, &t->shape, LABEL_COLUMNS);
    size_t columns = utf8_columns(label.s, label.len);
    text_addf(out, "  %s%*s", label.s, columns < LABEL_COLUMNS ? (int)(LABEL_COLUMNS - columns) : 0,
              "");
    text_addf(out, " %9.3f %9.3f %9.3f %9llu %9llu%s\n", seconds(t->cpu_ns),
              seconds(t->runqueue_ns), seconds(t->wall_ns - t->cpu_ns - t->runqueue_ns),
              (unsigned long long)u->voluntary + u->involuntary,
              (unsigned long long)u->minor_faults + u->major_faults, t->idle ? "  idle" : "");
    text_release(&label);
}

void report_add_threads(const struct report_source *s, struct text *out)
{
    text_addf(out, "  %-*s %9s %9s %9s %9s %9s\n", LABEL_COLUMNS, "thread", "run", "wait-cpu",
              "blocked", "switches", "faults");
    for (size_t i = 0; i < s->threads->n; i++)
        add_thread(&s->threads->threads[i], out);
}

/* ---- what is shown ---- */

/* Of rows that are parts of WHOLE_NS: what takes less is left out; 0: --min does not say. */
static int64_t asked_least_ns(const struct report_source *s, int64_t whole_ns)
{
    return s->o->least_share > 0 ? (int64_t)(s->o->least_share * (double)whole_ns) : s->o->least_ns;
}

/* Adds the time of T, one of S, in the stacks that are SHOWN (NULL: all). */
static void add_shown(struct path_times *times, const bool *shown, const struct profile_thread *t)
{
    path_times_add(times, t);
    for (uint32_t i = 0; shown && i <= paths_count(times->paths); i++)
        if (!shown[i])
            times->self[i] = (struct times){0};
}

/* ---- functions ---- */

/* "Trainer.step train.py:67", "memcpy [libc.so.6]"; what has no name is its place. */
static void add_frame(const struct path_frame *f, size_t columns, struct text *out)
{
    struct text name = {0};
    bool placed = !f->waits && f->file && !strstr(f->name, "+0x");
    text_add(&name, f->name);
    if (placed)
        text_addf(&name, " %s",
                  f->source || *f->file != '[' ? path_base(f->source ? f->source : f->file)
                                               : f->file);
    if (placed && f->line)
        text_addf(&name, ":%u", f->line);
    text_add_cut(out, name.s, name.len, columns > NAME_COLUMNS ? columns : NAME_COLUMNS);
    text_release(&name);
}

static void add_function(const struct function_times *f, size_t width, struct text *out)
{
    size_t before = out->len;
    text_addf(out, "%8.3f %8.3f %8.3f %8.3f %8.3f  ", seconds(f->self.ns[PATH_WALL]),
              seconds(f->total.ns[PATH_WALL]), seconds(f->self.ns[PATH_RUN]),
              seconds(f->self.ns[PATH_WAIT_CPU]), seconds(f->self.ns[PATH_BLOCKED]));
    add_frame(&f->frame, width - (out->len - before), out);
    text_add(out, "\n");
}

static void add_rest(size_t n, const char *what, struct text *out)
{
    if (n)
        text_addf(out, "  and %zu more %s\n", n, what);
}

/* Rows of N, of which the heaviest is the first: without --min those that a screen takes. */
static bool is_row(const struct report_source *s, size_t i, int64_t ns, int64_t least_ns)
{
    bool asked = s->o->least_share > 0 || s->o->least_ns;
    return asked ? ns >= least_ns : i < MOST_ROWS;
}

void report_functions_init(struct report_functions *ret, const struct report_source *s)
{
    struct paths *paths = paths_new(s->p, s->view, 0);
    bool *shown = stack_filter_paths(s->o, s->view, paths);
    struct path_times times;
    path_times_init(&times, paths);
    for (size_t i = 0; i < s->threads->n; i++)
        add_shown(&times, shown, s->threads->threads[i].thread);
    path_times_sum(&times);
    *ret = (struct report_functions){.paths = paths, .all_ns = times.total[0].ns[PATH_WALL]};
    ret->items = function_times_of(&times, &ret->n);
    path_times_release(&times);
    free(shown);
}

void report_functions_release(struct report_functions *f)
{
    free(f->items);
    paths_free(f->paths);
}

void report_add_functions(const struct report_source *s, struct text *out)
{
    size_t left_out = 0;
    struct report_functions functions;
    report_functions_init(&functions, s);
    int64_t least_ns = asked_least_ns(s, functions.all_ns);
    text_addf(out, "%8s %8s %8s %8s %8s  %s\n", "self", "total", "run", "wait-cpu", "blocked",
              "function (run to blocked: of self)");
    for (size_t i = 0; i < functions.n; i++) {
        if (is_row(s, i, functions.items[i].total.ns[PATH_WALL], least_ns))
            add_function(&functions.items[i], s->width, out);
        else
            left_out++;
    }
    add_rest(left_out, "functions", out);
    report_functions_release(&functions);
}

/* ---- waits ---- */

static void add_wait_row(const struct report_source *s, const struct wait_rows *rows, size_t i,
                         struct text *out)
{
    const struct wait_row *row = &rows->items[i];
    size_t start = out->len;
    text_addf(out, "%9.3f %9u %9llu  ", seconds(row->ns), row->threads,
              (unsigned long long)row->times);
    size_t column = out->len - start;
    (void)text_add_wrapped(out, wait_rows_words(rows, i), column, column, s->width);
    text_add(out, "\n");
}

void report_add_waits(const struct report_source *s, struct text *out)
{
    struct wait_rows rows;
    size_t left_out = 0;
    wait_rows_init(&rows, s);
    int64_t least_ns = asked_least_ns(s, rows.all_ns);
    text_addf(out, "%9s %9s %9s  %s\n", "blocked", "threads", "times", "what for");
    for (size_t i = 0; i < rows.n; i++) {
        if (is_row(s, i, rows.items[i].ns, least_ns))
            add_wait_row(s, &rows, i, out);
        else
            left_out++;
    }
    add_rest(left_out, "waits", out);
    wait_rows_release(&rows);
}

/* ---- the tree ---- */

struct tree {
    const struct report_source *s;
    const struct paths *paths;
    struct path_times times; /* of threads that are alike */
    uint32_t *first, *next;  /* children by path, the heaviest first */
    int64_t least_ns;        /* what takes less is left out */
};
enum { LEAST_PART = 100, MOST_INDENT = 30, TREE_COLUMN = 16, TREE_NAME_COLUMNS = 50 };

/* Links each path to its parent, in order of time. */
static void link_children(struct tree *t)
{
    for (uint32_t path = paths_count(t->paths); path; path--) {
        int64_t ns = t->times.total[path].ns[PATH_WALL];
        uint32_t *at = &t->first[paths_parent(t->paths, path)];
        if (ns < t->least_ns || !ns)
            continue;
        while (*at && t->times.total[*at].ns[PATH_WALL] > ns)
            at = &t->next[*at];
        t->next[path] = *at;
        *at = path;
    }
}

/* PATH's only child that takes nearly all of its time; 0: there is none. */
static uint32_t only_child(const struct tree *t, uint32_t path)
{
    uint32_t child = t->first[path];
    int64_t lost = t->times.total[path].ns[PATH_WALL] - t->times.total[child].ns[PATH_WALL];
    return child && lost < t->least_ns ? child : 0;
}

/* The frames of a line from PATH on: of very many, as of imports that import, those at its ends
 * unless ALL are wanted.  Returns the last one. */
static uint32_t add_calls(const struct tree *t, uint32_t path, bool all, struct text *out)
{
    enum { MOST_CALLS = 10, AT_ENDS = 4 };
    size_t n = 1;
    for (uint32_t next = path; (next = only_child(t, next)) != 0;)
        n++;
    size_t hidden = all || n <= MOST_CALLS ? 0 : n - 2 * (size_t)AT_ENDS;
    for (size_t i = 0;; i++, path = only_child(t, path)) {
        struct path_frame frame = paths_see_frame(t->paths, paths_frame(t->paths, path));
        bool shown = !hidden || i < AT_ENDS || i >= AT_ENDS + hidden;
        text_add(out, i && (shown || i == AT_ENDS) ? " > " : "");
        if (shown)
            add_frame(&frame, TREE_NAME_COLUMNS, out);
        else if (i == AT_ENDS)
            text_addf(out, "… %zu more", hidden);
        if (i + 1 == n)
            return path;
    }
}

/* A line: PATH, and what it calls as long as that takes all of its time.  Returns the last one. */
static uint32_t add_line(const struct tree *t, uint32_t path, size_t indent, struct text *out)
{
    const struct times *time = &t->times.total[path];
    int64_t whole = t->times.total[0].ns[PATH_WALL];
    struct text words = {0};
    text_addf(out, "%*s%8.3f %3.0f%%  ", (int)indent, "", seconds(time->ns[PATH_WALL]),
              100 * (double)time->ns[PATH_WALL] / (double)(whole ? whole : 1));
    path = add_calls(t, path, t->s->o->view.internals, &words);
    (void)text_add_wrapped(out, words.s, indent + TREE_COLUMN, indent + TREE_COLUMN, t->s->width);
    text_add(out, "\n");
    text_release(&words);
    return path;
}

/* Walks without recursion: a stack may be as deep as it likes. */
static void add_paths(const struct tree *t, struct text *out)
{
    struct place {
        uint32_t path;
        size_t depth;
    } *open = NULL;
    size_t n = 0;
    size_t capacity = 0;
    uint32_t path = t->first[0];
    for (size_t depth = 0; path || n;) {
        if (!path) {
            path = open[--n].path;
            depth = open[n].depth;
            continue;
        }
        size_t indent = 2 * depth < MOST_INDENT ? 2 * depth : MOST_INDENT;
        uint32_t last = add_line(t, path, indent, out);
        open = array_reserve(open, &capacity, n + 1, sizeof *open);
        open[n++] = (struct place){t->next[path], depth};
        path = t->first[last];
        depth++;
    }
    free(open);
}

/* Those of a group of the answer's that are asked for. */
struct tree_group {
    const struct thread_group *group;
    const struct thread_summary **threads;
    size_t n;
};

static struct tree_group asked_of(const struct report_source *s, const struct thread_group *group)
{
    struct tree_group ret = {.group = group, .threads = xcalloc(group->n, sizeof *ret.threads)};
    for (size_t i = 0; i < group->n; i++)
        if (chosen_thread(s->o, s->p, group->threads[i]))
            ret.threads[ret.n++] = group->threads[i];
    return ret;
}

/* "main 1587: run 0.564, wait-cpu 0.111, blocked 2.325"; what no sample saw is in no stack. */
static void add_head(const struct report_source *s, const struct tree_group *g,
                     const struct times *all, struct text *out)
{
    const int64_t *ns = all->ns;
    int64_t unseen_ns = ns[PATH_WALL] - ns[PATH_RUN] - ns[PATH_WAIT_CPU] - ns[PATH_BLOCKED];
    struct text words = {0};
    if (g->n == g->group->n)
        text_add(&words, g->group->label);
    else if (g->n == 1)
        text_add(&words, g->threads[0]->label);
    else
        text_addf(&words, "%zu x %s", g->n, g->threads[0]->group);
    text_addf(&words, ": run %.3f, wait-cpu %.3f, blocked %.3f", seconds(ns[PATH_RUN]),
              seconds(ns[PATH_WAIT_CPU]), seconds(ns[PATH_BLOCKED]));
    if (unseen_ns > ns[PATH_WALL] / LEAST_PART)
        text_addf(&words, ", not seen %.3f", seconds(unseen_ns));
    text_addf(out, "%8.3f       ", seconds(ns[PATH_WALL]));
    (void)text_add_wrapped(out, words.s, TREE_COLUMN - 1, TREE_COLUMN, s->width);
    text_add(out, "\n");
    text_release(&words);
}

/* Returns whether it has any time in the stacks that are SHOWN (NULL: all).  The first tree is at
 * FIRST. */
static bool add_tree_of(const struct report_source *s, const struct paths *paths, const bool *shown,
                        const struct tree_group *g, size_t first, struct text *out)
{
    size_t n = paths_count(paths) + (size_t)1;
    struct tree t = {.s = s, .paths = paths};
    path_times_init(&t.times, paths);
    for (size_t i = 0; i < g->n; i++)
        add_shown(&t.times, shown, g->threads[i]->thread);
    path_times_sum(&t.times);
    const struct times *all = &t.times.total[0];
    if (shown && all->ns[PATH_WALL] <= 0) {
        path_times_release(&t.times);
        return false;
    }
    t.first = xcalloc(n, sizeof *t.first);
    t.next = xcalloc(n, sizeof *t.next);
    t.least_ns = asked_least_ns(s, all->ns[PATH_WALL]);
    t.least_ns = t.least_ns ? t.least_ns : all->ns[PATH_WALL] / LEAST_PART;
    text_add(out, out->len > first ? "\n" : "");
    link_children(&t);
    add_head(s, g, all, out);
    add_paths(&t, out);
    free(t.first);
    free(t.next);
    path_times_release(&t.times);
    return true;
}

void report_add_tree(const struct report_source *s, struct text *out)
{
    struct paths *paths = paths_new(s->p, s->view, 0);
    bool *shown = stack_filter_paths(s->o, s->view, paths);
    struct groups groups;
    size_t before = out->len;
    size_t trees = 0;
    size_t idle = 0;
    size_t more = 0;
    groups_init(&groups, s->p, &s->o->view);
    for (size_t i = 0; i < groups.n; i++) {
        struct tree_group g = asked_of(s, &groups.items[i]);
        if (g.group->idle)
            idle += g.n;
        else if (trees == MOST_ROWS)
            more += g.n;
        else if (g.n)
            trees += add_tree_of(s, paths, shown, &g, before, out);
        free(g.threads);
    }
    if (more)
        text_addf(out, "\nand %zu more threads\n", more);
    if (idle)
        text_addf(out, "\n%zu idle thread%s left out\n", idle, idle == 1 ? "" : "s");
    groups_release(&groups);
    free(shown);
    paths_free(paths);
}

/* ---- all ---- */

void report_source_init(struct report_source *s, const struct options *o, const struct profile *p,
                        size_t width)
{
    *s = (struct report_source){.o = o, .p = p, .view = view_new(p, &o->view), .width = width};
    thread_summaries_init(&s->all, p, s->view);
    thread_summaries_init(&s->kept, p, s->view);
    chosen_keep(o, p, &s->kept);
    s->threads = &s->kept;
}

void report_source_release(struct report_source *s)
{
    thread_summaries_release(&s->kept);
    thread_summaries_release(&s->all);
    view_free(s->view);
}

void report_tables_add(const struct options *o, const struct profile *p, size_t width,
                       struct text *out)
{
    const struct {
        bool asked;
        void (*add)(const struct report_source *s, struct text *out);
    } tables[] = {{o->tables.threads, report_add_threads},
                  {o->tables.functions, report_add_functions},
                  {o->tables.waits, report_add_waits},
                  {o->tables.tree, report_add_tree}};
    struct report_source source;
    report_source_init(&source, o, p, width);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (!tables[i].asked)
            continue;
        text_add(out, out->len ? "\n" : "");
        tables[i].add(&source, out);
    }
    report_source_release(&source);
}
