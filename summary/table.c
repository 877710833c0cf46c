#include "summary/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "base/text.h"
#include "summary/short_name.h"

static struct table_path copy_path(const struct call_path *path)
{
    const char *parts[CALL_PATH_MAX_PARTS];
    struct table_path copy = {.n = call_path_parts(path, parts), .ns = path->ns};
    for (size_t i = 0; i < copy.n; i++)
        copy.parts[i] = xstrdup(parts[i]);
    return copy;
}

/* At these rates they cost about a percent of a CPU, or of the time if pages come from a disk. */
static const double shown_faults = 5000, shown_major_faults = 20, shown_switches = 2000;

static double if_many(uint64_t n, const struct thread_group *g, double least)
{
    double rate = g->wall_ns > 0 ? (double)n * NS_PER_S / (double)g->wall_ns : 0;
    return rate >= least ? rate : 0;
}

static struct table_events standing_out(const struct thread_group *g)
{
    uint64_t faults = 0;
    uint64_t major_faults = 0;
    uint64_t switches = 0;
    for (size_t i = 0; i < g->n; i++) {
        const struct profile_thread *t = g->threads[i]->thread;
        faults += events_faults(t);
        major_faults += t->usage.major_faults;
        switches += events_switches(t);
    }
    return (struct table_events){.faults = if_many(faults, g, shown_faults),
                                 .major_faults = if_many(major_faults, g, shown_major_faults),
                                 .switches = if_many(switches, g, shown_switches)};
}

static void add_times(struct table_row *row, const struct thread_group *g)
{
    row->n_threads += g->n_threads;
    row->wall_ns += g->wall_ns;
    row->cpu_ns += g->cpu_ns;
    row->runqueue_ns += g->runqueue_ns;
    row->seen_ns += g->seen_ns;
    row->idle_ns += g->tally.idle_ns;
}

/* A path with less than half a percent of an almost idle thread's time is not worth a line. */
static bool rounds_to_nothing(const struct table_row *row, int64_t ns)
{
    return row->idle_ns > 0 && ns < row->wall_ns / 200;
}

static void add_active(struct table *t, const struct thread_group *g)
{
    struct table_row *row = &t->rows[t->n++];
    row->label = xstrdup(g->label);
    row->shape = g->shape;
    row->shape.brief = g->shape.brief ? xstrdup(g->shape.brief) : NULL;
    add_times(row, g);
    row->events = standing_out(g);
    for (size_t i = 0; i < g->n_paths; i++)
        if (!rounds_to_nothing(row, g->paths[i].ns))
            row->paths[row->n_paths++] = copy_path(&g->paths[i]);
}

/* The threads of G, N of them and all idle or all active, in one row. */
static void add_sum(struct table *t, const struct thread_group *g, size_t n, const char *what)
{
    struct table_row *row = &t->rows[t->n++];
    for (size_t i = 0; i < n; i++)
        add_times(row, &g[i]);
    row->label = xasprintf("%zu %s thread%s", row->n_threads, what, row->n_threads == 1 ? "" : "s");
}

/* The name that all threads of G have, with '*' for numbers where these differ. */
static const char *name_of_group(const struct thread_group *g)
{
    const struct thread_summary *first = g->threads[0];
    size_t same = 1;
    while (same < g->n && str_eq(g->threads[same]->name, first->name))
        same++;
    return first->thread->main || same < g->n ? first->group : first->name;
}

/* "2 x omp worker, blas worker": groups by their threads' names. */
static char *list_groups(const struct thread_group *g, size_t n)
{
    enum { LISTED_COLUMNS = 30 };
    struct text list = {0};
    struct text tame = {0};
    for (size_t i = 0; i < n; i++) {
        const char *name = name_of_group(&g[i]);
        text_add(&list, i ? ", " : "");
        if (g[i].n_threads > 1)
            text_addf(&list, "%zu x ", g[i].n_threads);
        text_clear(&tame);
        text_add_tame(&tame, name, strlen(name));
        short_label_add(&list, tame.s, &(struct label_shape){0}, LISTED_COLUMNS);
    }
    text_release(&tame);
    return list.s;
}

/* Of one pool its wait says more than its name, which is the label. */
static void add_idle(struct table *t, const struct thread_group *g, size_t n)
{
    struct text wait = {0};
    if (n > 1) {
        add_sum(t, g, n, "helper");
        t->rows[t->n - 1].idle = list_groups(g, n);
        return;
    }
    add_active(t, g);
    text_add_tame(&wait, g->threads[0]->pool_wait, strlen(g->threads[0]->pool_wait));
    t->rows[t->n - 1].idle = wait.s;
}

void table_init(struct table *t, const struct groups *g, size_t max_rows)
{
    size_t active = 0;
    assert(max_rows >= 2);
    while (active < g->n && !g->items[active].idle)
        active++;
    size_t launch = active; /* behind idle ones only launchers come */
    while (launch < g->n && !g->items[launch].launches)
        launch++;
    size_t for_idle = active < g->n;
    size_t room = max_rows - min_u64(max_rows, active + for_idle);
    size_t launchers = launch > active ? min_u64(g->n - launch, room) : 0;
    size_t shown = active;
    if (active + for_idle > max_rows)
        shown = max_rows - for_idle - 1;
    *t = (struct table){.rows = xcalloc(max_rows, sizeof *t->rows),
                        .partial = profile_number(g->p, METRIC_STACKS_LEFT_OUT) > 0};
    for (size_t i = 0; i < shown; i++)
        add_active(t, &g->items[i]);
    if (shown < active) {
        add_sum(t, &g->items[shown], active - shown, "more");
        t->rows[t->n - 1].others = list_groups(&g->items[shown], active - shown);
    }
    if (for_idle)
        add_idle(t, &g->items[active], g->n - active - launchers);
    for (size_t i = g->n - launchers; i < g->n; i++)
        add_active(t, &g->items[i]);
}

void table_release(struct table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        struct table_row *row = &t->rows[i];
        for (size_t k = 0; k < row->n_paths; k++)
            for (size_t part = 0; part < row->paths[k].n; part++)
                free(row->paths[k].parts[part]);
        free(row->label);
        free(row->shape.brief);
        free(row->idle);
        free(row->others);
    }
    free(t->rows);
    *t = (struct table){0};
}
