#include "summary/intervals.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"

static const struct interval always = {INT64_MIN, INT64_MAX};

struct interval interval_of_run(const struct run *run)
{
    return (struct interval){run->start_ns, run_end_ns(run)};
}

void intervals_add(struct intervals *all, struct interval time)
{
    all->items = array_reserve(all->items, &all->capacity, all->n + 1, sizeof *all->items);
    all->items[all->n++] = time;
}

void intervals_add_run(struct intervals *all, const struct run *run)
{
    intervals_add(all, interval_of_run(run));
}

void intervals_join(struct intervals *all, struct interval time)
{
    if (time.end_ns <= time.start_ns)
        return;
    if (all->n && all->items[all->n - 1].end_ns == time.start_ns)
        all->items[all->n - 1].end_ns = time.end_ns;
    else
        intervals_add(all, time);
}

int64_t intervals_ns(const struct intervals *all)
{
    int64_t ns = 0;
    for (size_t i = 0; i < all->n; i++)
        ns += all->items[i].end_ns - all->items[i].start_ns;
    return ns;
}

int64_t intervals_both_ns(const struct intervals *a, const struct intervals *b)
{
    int64_t ns = 0;
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        const struct interval *x = &a->items[i];
        const struct interval *y = &b->items[k];
        ns += max_i64(0, min_i64(x->end_ns, y->end_ns) - max_i64(x->start_ns, y->start_ns));
        if (x->end_ns < y->end_ns)
            i++;
        else
            k++;
    }
    return ns;
}

void intervals_release(struct intervals *all)
{
    free(all->items);
    *all = (struct intervals){.n = 0};
}

static int by_start(const void *a, const void *b)
{
    const struct interval *x = a;
    const struct interval *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

void intervals_unite(struct intervals *all)
{
    struct interval *items = all->items;
    size_t ends = 0;
    if (!all->n)
        return;
    qsort(items, all->n, sizeof *items, by_start);
    for (size_t i = 1; i < all->n; i++)
        if (items[i].start_ns <= items[ends].end_ns)
            items[ends].end_ns = max_i64(items[ends].end_ns, items[i].end_ns);
        else
            items[++ends] = items[i];
    all->n = ends + 1;
}

void intervals_keep_exact(struct intervals *all, const struct profile *p)
{
    const struct exact_time *exact = profile_exact_time(p);
    struct intervals kept = {.n = 0};
    if (exact_time_from(exact, INT64_MIN))
        return;
    for (size_t i = 0; i < all->n; i++)
        for (int64_t at_ns = all->items[i].start_ns, until_ns; at_ns < all->items[i].end_ns;
             at_ns = until_ns)
            if (exact_time_samples(exact, profile_end_ns(p), at_ns, &until_ns))
                intervals_join(&kept,
                               (struct interval){at_ns, min_i64(until_ns, all->items[i].end_ns)});
    free(all->items);
    *all = kept;
}

bool is_exact_at_end(const struct profile *p, int64_t ns)
{
    return exact_time_from(profile_exact_time(p), profile_end_ns(p) - ns);
}

/* ---- runs ---- */

/* The first of THREAD's runs that ends after NS, from its run LOW on. */
static size_t first_run_after(const struct profile_thread *thread, size_t low, int64_t ns)
{
    for (size_t high = thread->n_runs; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (interval_of_run(&thread->runs[middle]).end_ns <= ns)
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
        const struct interval when = interval_of_run(&p->thread->runs[p->next]);
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
            const struct interval all = interval_of_run(&p->thread->runs[p->next]);
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
