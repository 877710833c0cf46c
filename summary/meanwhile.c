#include "summary/meanwhile.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "base/share.h"
#include "summary/cause.h"
#include "summary/wait_class.h"

static const double meanwhile_part = 0.8; /* of the wait: for so long somebody else is busy */

/* Is RUN a wait for a child, another process, or for time to pass? */
static bool is_outside(const struct groups *g, const struct run *run)
{
    static const unsigned outside = 1U << CAUSE_CHILD | 1U << CAUSE_PEER | 1U << CAUSE_TIMER;
    return run->state == RUN_BLOCKED && outside >> cause_of_run(g->tree, g->v, run) & 1;
}

/* When THREAD was busy. */
static struct interval *busy_intervals(const struct groups *g, const struct profile_thread *thread,
                                       enum busy_with with, size_t *ret_n)
{
    struct interval *all = NULL;
    size_t capacity = 0;
    *ret_n = 0;
    for (size_t k = 0; k < thread->n_runs && !thread->n_folded; k++)
        if (is_busy_class(class_of_run(g->tree, &thread->runs[k]), &thread->runs[k]) ||
            (with == BUSY_OUTSIDE && is_outside(g, &thread->runs[k])))
            all = interval_add(all, ret_n, &capacity, &thread->runs[k]);
    return all;
}

/* The common part of A and B, each in order. */
static int64_t common_ns(const struct interval *a, size_t n, const struct interval *b, size_t m)
{
    int64_t ns = 0;
    for (size_t i = 0, k = 0; i < n && k < m;) {
        ns += max_i64(min_i64(a[i].end_ns, b[k].end_ns) - max_i64(a[i].start_ns, b[k].start_ns), 0);
        if (a[i].end_ns < b[k].end_ns)
            i++;
        else
            k++;
    }
    return ns;
}

/* For what part of WAITS a thread of GROUP is busy, on average. */
static double busy_part(const struct groups *g, const struct thread_group *group,
                        enum busy_with with, const struct interval *waits, size_t n)
{
    int64_t busy_ns = 0;
    for (size_t i = 0; i < group->n; i++) {
        size_t m;
        struct interval *busy = busy_intervals(g, group->threads[i]->thread, with, &m);
        busy_ns += common_ns(waits, n, busy, m);
        free(busy);
    }
    return share_of(busy_ns, intervals_ns(waits, n)) / (double)group->n;
}

struct meanwhile meanwhile_of(const struct groups *g, const struct thread_group *group,
                              enum busy_with with, const struct interval *waits, size_t n)
{
    struct meanwhile m = {0};
    for (size_t i = 0; i < g->n; i++) {
        double part = &g->items[i] == group ? 0 : busy_part(g, &g->items[i], with, waits, n);
        if (part < meanwhile_part)
            continue;
        m.busy = &g->items[i];
        m.part = part;
        m.candidates++;
    }
    m.busy = m.candidates == 1 ? m.busy : NULL;
    return m;
}
