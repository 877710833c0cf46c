#include "summary/process_tree.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "summary/process_name.h"

/* By process: its first child and its next sibling, 0: none. */
struct kinship {
    uint32_t *first, *next;
};

static void add_thread(struct process_row *row, const struct thread_summary *t)
{
    bool begins = !row->n_threads || t->thread->start_ns < row->start_ns;
    row->start_ns = begins ? t->thread->start_ns : row->start_ns;
    row->end_ns = t->thread->end_ns > row->end_ns ? t->thread->end_ns : row->end_ns;
    row->n_threads += t->n_threads;
    row->run_ns += t->cpu_ns;
    row->wait_cpu_ns += t->runqueue_ns;
    row->blocked_ns += t->wall_ns - t->cpu_ns - t->runqueue_ns;
    if (t->thread->main)
        row->ended = t->thread->ended;
}

/* What P's children used that it has waited for, less those of them that are ROWS themselves. */
static int64_t unsampled_children_ns(const struct profile *p, const struct process_row *rows,
                                     const struct kinship *kin, uint32_t ix)
{
    int64_t ns = profile_see_process(p, (process_id){ix})->children_cpu_ns;
    for (uint32_t child = kin->first[ix]; child; child = kin->next[child])
        if (rows[child].ended || !rows[child].n_threads)
            ns -= rows[child].run_ns + profile_see_process(p, (process_id){child})->children_cpu_ns;
    return ns > 0 ? ns : 0;
}

/* Oldest first, as they were added. */
static struct kinship find_kin(const struct profile *p)
{
    uint32_t n = profile_process_count(p);
    struct kinship kin = {xcalloc(n + 1, sizeof *kin.first), xcalloc(n + 1, sizeof *kin.next)};
    for (uint32_t i = n; i >= 1; i--) {
        uint32_t parent = profile_see_process(p, (process_id){i})->parent.ix;
        kin.next[i] = kin.first[parent];
        kin.first[parent] = i;
    }
    return kin;
}

/* Depth first, without a stack: up again by way of the parents. */
static void put_in_order(struct process_tree *t, const struct profile *p,
                         const struct process_row *rows, const struct kinship *kin,
                         const bool *only)
{
    uint32_t at = kin->first[0];
    unsigned depth = 0;
    while (at) {
        bool wanted = !only || only[at];
        if (wanted) {
            t->rows[t->n] = rows[at];
            t->rows[t->n].depth = depth;
            t->rows[t->n].label = label_of_process(p, (process_id){at});
            t->n++;
        }
        if (kin->first[at]) {
            at = kin->first[at];
            depth += wanted;
            continue;
        }
        while (at && !kin->next[at]) {
            at = profile_see_process(p, (process_id){at})->parent.ix;
            depth -= at && (!only || only[at]);
        }
        at = at ? kin->next[at] : 0;
    }
}

void process_tree_init(struct process_tree *t, const struct profile *p,
                       const struct thread_summaries *s)
{
    uint32_t n = profile_process_count(p);
    struct process_row *rows = xcalloc(n + 1, sizeof *rows); /* by process */
    struct kinship kin = find_kin(p);
    *t = (struct process_tree){.rows = xcalloc(n + 1, sizeof *t->rows)};
    for (size_t i = 0; i < s->n; i++)
        add_thread(&rows[s->threads[i].thread->process.ix], &s->threads[i]);
    for (uint32_t i = 1; i <= n; i++) {
        rows[i].id = (process_id){i};
        rows[i].unsampled_children_ns = unsampled_children_ns(p, rows, &kin, i);
    }
    put_in_order(t, p, rows, &kin, s->only);
    free(kin.first);
    free(kin.next);
    free(rows);
}

void process_tree_release(struct process_tree *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->rows[i].label);
    free(t->rows);
    *t = (struct process_tree){0};
}
