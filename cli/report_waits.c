#include "cli/report_waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/stack_filter.h"
#include "summary/wait_text.h"

static void add_thread_of(struct text *out, const struct profile *p,
                          const struct thread_summaries *all, const struct blocker *b)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct thread_summary *t = &all->threads[i];
        if (t->thread->tid == b->tid && !t->thread->n_folded &&
            profile_see_process(p, t->thread->process)->pid == b->pid) {
            text_add(out, t->label);
            return;
        }
    }
    text_addf(out, "thread %d", b->tid);
}

void report_add_side(struct text *out, const struct profile *p, const struct thread_summaries *all,
                     const struct wait_side *side, pid_t waiter)
{
    const char *lock = side->addr ? profile_lock_name(p, side->blocker.pid, side->addr) : "";
    if (*lock)
        text_addf(out, "lock %s", lock);
    if (side->blocker.kind == BLOCKER_THREAD) {
        text_add(out, *lock ? ", " : "");
        text_add(out, side->thing == THING_THREAD ? "the end of " : "held by ");
        add_thread_of(out, p, all, &side->blocker);
    } else {
        wait_side_add_text(out, p, side, waiter, false);
    }
}

/* "futex [blocked]: lock table, held by refresh 4203" */
static void add_wait_words(struct text *out, const struct report_source *s, const struct wait *w,
                           const struct profile_thread *t)
{
    const char *path = wait_path_below_mount(s->p, w);
    wait_add_text(out, s->p, w, false);
    if (path)
        text_addf(out, " %s", path);
    text_add(out, ": ");
    size_t before = out->len;
    report_add_side(out, s->p, &s->all, &w->side, profile_see_process(s->p, t->process)->pid);
    if (out->len == before)
        text_truncate(out, before - strlen(": "));
}

static struct wait_row *row_of(struct wait_rows *rows, const char *words, const struct wait *wait)
{
    uint64_t at;
    string_id id = strings_add(&rows->words, words, strlen(words));
    if (map_get(&rows->by_words, id.ix, &at))
        return &rows->items[at];
    rows->items = array_reserve(rows->items, &rows->capacity, rows->n + 1, sizeof *rows->items);
    map_put(&rows->by_words, id.ix, rows->n);
    rows->items[rows->n] = (struct wait_row){.words = id, .wait = wait};
    return &rows->items[rows->n++];
}

/* The stacks whose waits count. */
struct wait_stacks {
    struct paths *paths;
    bool *shown; /* NULL: all */
};

static void add_waits_of(struct wait_rows *rows, const struct report_source *s,
                         const struct wait_stacks *stacks, uint32_t number,
                         const struct profile_thread *t)
{
    struct text words = {0};
    for (size_t i = 0; i < t->n_runs; i++) {
        const struct run *run = &t->runs[i];
        const struct wait *wait = profile_see_wait(s->p, run->at.wait);
        int64_t ns = run_weight(run, WEIGHT_OFF_CPU);
        if (!wait || ns <= 0 || (stacks->shown && !stacks->shown[paths_of(stacks->paths, run->at)]))
            continue;
        text_clear(&words);
        add_wait_words(&words, s, wait, t);
        struct wait_row *row = row_of(rows, words.s, wait);
        row->ns += ns;
        rows->all_ns += ns;
        row->times += run->waits ? run->waits : 1;
        row->threads += row->last_thread != number;
        row->last_thread = number;
    }
    text_release(&words);
}

static int by_time(const void *a, const void *b)
{
    const struct wait_row *x = a;
    const struct wait_row *y = b;
    return (y->ns > x->ns) - (y->ns < x->ns);
}

void wait_rows_init(struct wait_rows *rows, const struct report_source *s)
{
    struct wait_stacks stacks = {.paths = paths_new(s->p, s->view, 0)};
    stacks.shown = stack_filter_paths(s->o, s->view, stacks.paths);
    *rows = (struct wait_rows){.n = 0};
    for (size_t i = 0; i < s->threads->n; i++)
        add_waits_of(rows, s, &stacks, (uint32_t)i + 1, s->threads->threads[i].thread);
    if (rows->n)
        qsort(rows->items, rows->n, sizeof *rows->items, by_time);
    free(stacks.shown);
    paths_free(stacks.paths);
}

const char *wait_rows_words(const struct wait_rows *rows, size_t i)
{
    return strings_text(&rows->words, rows->items[i].words);
}

void wait_rows_release(struct wait_rows *rows)
{
    strings_release(&rows->words);
    map_release(&rows->by_words);
    free(rows->items);
}
