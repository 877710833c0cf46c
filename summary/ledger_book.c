#include "summary/ledger_book.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"

enum { MAX_EDGES = 8 };

struct share *booking_share(struct booking *b, const struct profile_thread *thread)
{
    uint64_t at;
    if (map_get(&b->by_thread, (uintptr_t)thread, &at))
        return &b->shares[at];
    b->shares = array_reserve(b->shares, &b->capacity, b->n + 1, sizeof *b->shares);
    map_put(&b->by_thread, (uintptr_t)thread, b->n);
    b->shares[b->n] = (struct share){.thread = thread};
    return &b->shares[b->n++];
}

void share_add(struct share *share, struct interval time)
{
    if (time.end_ns <= time.start_ns)
        return;
    if (share->n && share->items[share->n - 1].end_ns == time.start_ns) {
        share->items[share->n - 1].end_ns = time.end_ns;
        return;
    }
    share->items =
        array_reserve(share->items, &share->capacity, share->n + 1, sizeof *share->items);
    share->items[share->n++] = time;
}

size_t first_run_after(const struct profile_thread *thread, int64_t ns)
{
    size_t low = 0;
    for (size_t high = thread->n_runs; low < high;) {
        size_t middle = low + (high - low) / 2;
        const struct run *run = &thread->runs[middle];
        if (run->start_ns + run->weights.wall_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The way from the leading thread to the one that is looked at. */
struct walk {
    struct booking *b;
    const struct groups *g;
    struct holders *h;
    const struct profile_thread *threads[MAX_EDGES];
    size_t n;
};

/* Whom RUN, of the walk's last thread, waits for; NULL: nobody is known, or it is on the way. */
static const struct profile_thread *edge_of(const struct walk *w, const struct run *run)
{
    const struct profile_thread *next =
        run->state == RUN_BLOCKED && w->n < MAX_EDGES ? holders_follow(w->h, run) : NULL;
    for (size_t i = 0; next && i < w->n; i++)
        next = w->threads[i] == next ? NULL : next;
    return next && !next->n_folded && groups_of(w->g, next) ? next : NULL;
}

/* TIME of the walk's last thread that no sample tells of: the one before it waits all the same. */
static void book_unseen(struct walk *w, struct interval time)
{
    if (w->n > 1)
        share_add(booking_share(w->b, w->threads[w->n - 2]), time);
    else
        w->b->unseen_ns += time.end_ns - time.start_ns;
}

/* Books TIME where the walk's last thread is then, in order. */
static void follow(struct walk *w, struct interval time)
{
    const struct profile_thread *thread = w->threads[w->n - 1];
    int64_t done_ns = time.start_ns;
    for (size_t i = first_run_after(thread, time.start_ns);
         i < thread->n_runs && thread->runs[i].start_ns < time.end_ns; i++) {
        const struct run *run = &thread->runs[i];
        const struct interval part = {max_i64(run->start_ns, done_ns),
                                      min_i64(run->start_ns + run->weights.wall_ns, time.end_ns)};
        if (run->state == RUN_MISSED || part.end_ns <= part.start_ns)
            continue;
        book_unseen(w, (struct interval){done_ns, part.start_ns});
        done_ns = part.end_ns;
        const struct profile_thread *next = edge_of(w, run);
        if (next) {
            w->threads[w->n++] = next;
            follow(w, part);
            w->n--;
        } else {
            share_add(booking_share(w->b, thread), part);
        }
    }
    book_unseen(w, (struct interval){done_ns, time.end_ns});
}

void booking_init(struct booking *b, const struct groups *g, struct holders *h,
                  const struct profile_thread *thread)
{
    struct walk w = {.b = b, .g = g, .h = h, .threads = {thread}, .n = 1};
    *b = (struct booking){0};
    follow(&w, (struct interval){thread->start_ns, thread->end_ns});
}

void booking_release(struct booking *b)
{
    for (size_t i = 0; i < b->n; i++)
        free(b->shares[i].items);
    free(b->shares);
    map_release(&b->by_thread);
    *b = (struct booking){0};
}
