#include "summary/ledger_book.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/share.h"

enum { MAX_EDGES = 8 };

/* What ends in THREAD: nothing of it yet, if there was none.  Valid until the next call. */
static struct share *share_in(struct booking *b, const struct profile_thread *thread)
{
    uint64_t at;
    if (map_get(&b->by_thread, (uintptr_t)thread, &at))
        return &b->shares[at];
    b->shares = array_reserve(b->shares, &b->capacity, b->n + 1, sizeof *b->shares);
    map_put(&b->by_thread, (uintptr_t)thread, b->n);
    b->shares[b->n] = (struct share){.thread = thread};
    return &b->shares[b->n++];
}

/* The way from the leading thread to the one that is looked at. */
struct walk {
    struct booking *b;
    const struct groups *g;
    struct holders *h;
    const struct profile_thread *threads[MAX_EDGES];
    bool chosen[MAX_EDGES]; /* by thread: on the way to it a thread was chosen */
    size_t n;
};

/* Whom RUN, of the walk's last thread, waits for; NULL: nobody is known, or it is on the way.
 * *RET_CHOSEN as holders_follow(). */
static const struct profile_thread *edge_of(const struct walk *w, const struct run *run,
                                            bool *ret_chosen)
{
    const struct profile_thread *next = NULL;
    if (run->state == RUN_BLOCKED && w->n < MAX_EDGES)
        next = holders_follow(w->h, run, ret_chosen);
    for (size_t i = 0; next && i < w->n; i++)
        next = w->threads[i] == next ? NULL : next;
    return next && !next->n_folded && groups_of(w->g, next) ? next : NULL;
}

/* TIME in which the walk's last thread was not seen, or has nothing to do: the one before it waits
 * all the same. */
static void book_before(struct walk *w, struct interval time)
{
    if (w->n > 1)
        intervals_join(&share_in(w->b, w->threads[w->n - 2])->times, time);
    else
        w->b->unseen_ns += time.end_ns - time.start_ns;
}

/* Books TIME where the walk's last thread is then, in order. */
static void follow(struct walk *w, struct interval time)
{
    const struct profile_thread *thread = w->threads[w->n - 1];
    int64_t done_ns = time.start_ns;
    for (struct run_parts p = run_parts_of(thread, &time, 1); run_parts_next(&p);) {
        if (p.run->state == RUN_MISSED)
            continue;
        book_before(w, (struct interval){done_ns, p.when.start_ns});
        done_ns = p.when.end_ns;
        bool chosen = false;
        const struct profile_thread *next = edge_of(w, p.run, &chosen);
        if (w->n > 1 && class_of_run(w->g->tree, p.run) == CLASS_IDLE) {
            book_before(w, p.when);
        } else if (next) {
            w->chosen[w->n] = chosen || w->chosen[w->n - 1];
            w->threads[w->n++] = next;
            follow(w, p.when);
            w->n--;
        } else {
            struct share *share = share_in(w->b, thread);
            intervals_join(&share->times, p.when);
            share->chosen |= w->chosen[w->n - 1];
        }
    }
    book_before(w, (struct interval){done_ns, time.end_ns});
}

void booking_init(struct booking *b, const struct groups *g, struct holders *h,
                  const struct profile_thread *thread)
{
    struct walk w = {.b = b, .g = g, .h = h, .threads = {thread}, .n = 1};
    const struct interval all = {thread->start_ns, thread->end_ns};
    struct intervals times = {.n = 0};
    *b = (struct booking){.leader = thread};
    intervals_join(&times, all);
    intervals_keep_exact(&times, g->p);
    b->exact = times.n > 0;
    if (!b->exact)
        intervals_join(&times, all);
    b->stands_for = share_of(all.end_ns - all.start_ns, intervals_ns(&times));
    for (size_t i = 0; i < times.n; i++)
        follow(&w, times.items[i]);
    intervals_release(&times);
}

static void release_share(struct share *share)
{
    intervals_release(&share->times);
    intervals_release(&share->for_children);
    intervals_release(&share->for_others);
}

void booking_release(struct booking *b)
{
    for (size_t i = 0; i < b->n; i++)
        release_share(&b->shares[i]);
    free(b->shares);
    map_release(&b->by_thread);
    *b = (struct booking){0};
}

int64_t booking_ns(const struct booking *b, const struct intervals *times)
{
    return (int64_t)(((double)intervals_ns(times) * b->stands_for) + 0.5);
}
