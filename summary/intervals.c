#include "summary/intervals.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"

static const struct interval always = {INT64_MIN, INT64_MAX};

static struct interval time_of(const struct run *run)
{
    return (struct interval){run->start_ns, run->start_ns + run->weights.wall_ns};
}

struct interval *interval_add(struct interval *all, size_t *n, size_t *capacity,
                              const struct run *run)
{
    all = array_reserve(all, capacity, *n + 1, sizeof *all);
    all[(*n)++] = time_of(run);
    return all;
}

int64_t intervals_ns(const struct interval *intervals, size_t n)
{
    int64_t ns = 0;
    for (size_t i = 0; i < n; i++)
        ns += intervals[i].end_ns - intervals[i].start_ns;
    return ns;
}

static int by_start(const void *a, const void *b)
{
    const struct interval *x = a;
    const struct interval *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

size_t intervals_unite(struct interval *all, size_t n)
{
    size_t ends = 0;
    if (n)
        qsort(all, n, sizeof *all, by_start);
    for (size_t i = 1; i < n; i++)
        if (all[i].start_ns <= all[ends].end_ns)
            all[ends].end_ns = max_i64(all[ends].end_ns, all[i].end_ns);
        else
            all[++ends] = all[i];
    return n ? ends + 1 : 0;
}

/* ---- runs ---- */

/* The first of THREAD's runs that ends after NS, from its run LOW on. */
static size_t first_run_after(const struct profile_thread *thread, size_t low, int64_t ns)
{
    for (size_t high = thread->n_runs; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (time_of(&thread->runs[middle]).end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct run_parts run_parts_of(const struct profile_thread *thread, const struct interval *in,
                              size_t n)
{
    struct run_parts p = {.thread = thread, .in = in, .n = n};
    if (n && !thread->n_folded)
        p.next = first_run_after(thread, 0, in[0].start_ns);
    return p;
}

struct run_parts run_parts_of_all(const struct profile_thread *thread)
{
    return (struct run_parts){.thread = thread, .in = &always, .n = 1};
}

/* The next run is the part WHEN of P; false, and it is stepped over, if that is empty. */
static bool take(struct run_parts *p, struct interval when)
{
    const struct run *run = &p->thread->runs[p->next++];
    if (when.end_ns <= when.start_ns && p->in != &always)
        return false;
    p->again = run == p->run;
    p->run = run;
    p->when = when;
    return true;
}

static bool next_of_folded(struct run_parts *p)
{
    while (p->next < p->thread->n_runs && p->i < p->n) {
        const struct interval when = time_of(&p->thread->runs[p->next]);
        bool same = when.start_ns == p->in[p->i].start_ns && when.end_ns == p->in[p->i].end_ns;
        p->i += same;
        if (same && take(p, when))
            return true;
        p->next += !same;
    }
    return false;
}

bool run_parts_next(struct run_parts *p)
{
    if (p->thread->n_folded && p->in != &always)
        return next_of_folded(p);
    while (p->i < p->n) {
        const struct interval *in = &p->in[p->i];
        if (p->next < p->thread->n_runs && p->thread->runs[p->next].start_ns < in->end_ns) {
            const struct interval all = time_of(&p->thread->runs[p->next]);
            if (take(p, (struct interval){max_i64(all.start_ns, in->start_ns),
                                          min_i64(all.end_ns, in->end_ns)}))
                return true;
        } else if (++p->i < p->n) {
            /* The run before may go on into the next interval. */
            p->next = first_run_after(p->thread, p->next ? p->next - 1 : 0, p->in[p->i].start_ns);
        }
    }
    return false;
}
