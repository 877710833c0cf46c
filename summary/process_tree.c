#include "summary/process_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The CPU time of the children that each of ROWS has waited for, less that of the ones that are
 * rows.  A child was looked at last a while before it ended: it may have waited for its own since
 * then. */
static void find_unsampled(const struct profile *p, struct process_row *rows)
{
    uint32_t n = profile_process_count(p);
    int64_t *known_ns = xcalloc(n + 1, sizeof *known_ns); /* of its children that ended */
    for (uint32_t i = n; i >= 1; i--) {                   /* children before their parents */
        const struct profile_process *process = profile_see_process(p, (process_id){i});
        int64_t all_ns = process->children_cpu_ns;
        rows[i].id = (process_id){i};
        rows[i].unsampled_children_ns = all_ns > known_ns[i] ? all_ns - known_ns[i] : 0;
        if (rows[i].ended || !rows[i].n_threads)
            known_ns[process->parent.ix] +=
                rows[i].run_ns + (all_ns > known_ns[i] ? all_ns : known_ns[i]);
    }
    free(known_ns);
}

/* What of a process's LABEL stays whole: its pid, behind a title. */
static struct label_shape shape_of(const struct profile *p, process_id id, const char *label)
{
    char pid[16];
    (void)snprintf(pid, sizeof pid, " %d", profile_see_process(p, id)->pid);
    return (struct label_shape){.tail = str_ends(label, pid) ? strlen(pid) : 0};
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
            t->rows[t->n].shape = shape_of(p, (process_id){at}, t->rows[t->n].label);
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
    find_unsampled(p, rows);
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
