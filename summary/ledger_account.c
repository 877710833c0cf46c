#include "summary/ledger_account.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "summary/meanwhile.h"
#include "summary/wait_class.h"

/* For each leading thread the runs of all others are looked through: a thousand would take
 * minutes. */
enum { MOST_ASKING = 16 };

static struct account *account_of(struct accounts *a, struct thread_group *group,
                                  enum ledger_way way)
{
    struct account *account = &a->items[LEDGER_WAYS * (size_t)(group - a->g->items) + way];
    if (!account->group) {
        *account = (struct account){.group = group, .way = way};
        tally_init(&account->tally, a->g->tree, TALLY_ALL);
    }
    return account;
}

/* The last span of ACCOUNT is of LEADER's time. */
static void add_leader(struct account *account, const struct profile_thread *leader)
{
    account->leaders = array_reserve(account->leaders, &account->capacity, account->tally.n_spans,
                                     sizeof *account->leaders);
    account->leaders[account->tally.n_spans - 1] = leader;
}

void account_add(struct account *account, const struct profile_thread *leader,
                 const struct profile_thread *thread, const struct intervals *times)
{
    tally_add(&account->tally, thread, times->items, times->n);
    add_leader(account, leader);
}

/* ---- waits for nobody in particular ---- */

/* Is RUN, of THREAD, a wait for another process? */
static bool is_for_outside(const struct accounts *a, const struct profile_thread *thread,
                           const struct run *run)
{
    if (cause_of_run(a->g->tree, a->g->v, run) != CAUSE_PEER)
        return false;
    return holders_side(a->h, run->at)->blocker.pid !=
           profile_see_process(a->g->p, thread->process)->pid;
}

/* Is RUN, of THREAD, a wait for somebody who may be BUSY so?  A thread that is kept from its work
 * ends no wait for another process. */
static bool is_open_wait(const struct accounts *a, const struct profile_thread *thread,
                         const struct run *run, enum busy_with busy)
{
    enum wait_class class = class_of_run(a->g->tree, run);
    return class == CLASS_GIL ||
           (class == CLASS_ORDINARY && !(busy == BUSY_KEPT && is_for_outside(a, thread, run)));
}

/* Splits SHARE, of a leading thread, in its waits for somebody who may be BUSY so, and the rest. */
static void split_waits(const struct accounts *a, const struct share *share, enum busy_with busy,
                        struct intervals *ret_waits, struct intervals *ret_rest)
{
    struct run_parts p = run_parts_of(share->thread, share->times.items, share->times.n);
    *ret_waits = *ret_rest = (struct intervals){.n = 0};
    while (run_parts_next(&p))
        intervals_join(is_open_wait(a, share->thread, p.run, busy) ? ret_waits : ret_rest, p.when);
}

/* Books WAITS of SHARE, the leading thread's of B, with BUSY, and leaves REST there. */
static void book_waits(struct accounts *a, const struct booking *b, struct share *share,
                       struct thread_group *busy, const struct intervals *waits,
                       struct intervals rest)
{
    struct account *account = account_of(a, busy, LEDGER_MEANWHILE);
    for (size_t i = 0; i < busy->n; i++)
        account_add(account, share->thread, busy->threads[i]->thread, waits);
    account->ns += booking_ns(b, waits);
    intervals_release(&share->times);
    share->times = rest;
}

/* Books the waits of B's leading thread for its children, if these are alike, whatever they do. */
static void book_children(struct accounts *a, const struct booking *b, struct share *share,
                          struct intervals *ret_waits)
{
    struct thread_group *children = groups_of_children(a->g, share->thread->process);
    struct intervals rest = {.n = 0};
    struct run_parts p = run_parts_of(share->thread, share->times.items, share->times.n);
    while (children && run_parts_next(&p)) {
        bool is_wait =
            p.run->state == RUN_BLOCKED && cause_of_run(a->g->tree, a->g->v, p.run) == CAUSE_CHILD;
        intervals_join(is_wait ? ret_waits : &rest, p.when);
    }
    if (children && ret_waits->n)
        book_waits(a, b, share, children, ret_waits, rest);
    else
        intervals_release(&rest);
}

/* Who is BUSY while the leading thread of SHARE waits for somebody. */
static struct meanwhile find_meanwhile(const struct accounts *a, const struct thread_group *leader,
                                       const struct share *share, enum busy_with busy,
                                       struct intervals *ret_waits, struct intervals *ret_rest)
{
    split_waits(a, share, busy, ret_waits, ret_rest);
    if (!ret_waits->n)
        return (struct meanwhile){.busy = NULL};
    return meanwhile_of(a->g, leader, busy, ret_waits);
}

/* Books the open waits of a leading thread with those who are busy meanwhile, if there are any. */
static void book_meanwhile(struct accounts *a, const struct thread_group *leader,
                           const struct booking *b, struct share *share,
                           struct intervals *ret_waits)
{
    struct intervals rest;
    struct meanwhile m = find_meanwhile(a, leader, share, BUSY_WORK, ret_waits, &rest);
    if (!m.candidates) {
        intervals_release(ret_waits);
        intervals_release(&rest);
        m = find_meanwhile(a, leader, share, BUSY_KEPT, ret_waits, &rest);
    }
    if (m.busy)
        book_waits(a, b, share, m.busy, ret_waits, rest);
    else
        intervals_release(&rest);
}

/* Books all the time of THREAD where it is; returns how much. */
static int64_t book_folded(struct accounts *a, const struct profile_thread *thread)
{
    struct account *account = account_of(a, groups_of(a->g, thread), LEDGER_OWN);
    int64_t before_ns = account->tally.all_ns;
    tally_add_thread(&account->tally, thread);
    add_leader(account, thread);
    account->ns += account->tally.all_ns - before_ns;
    return account->tally.all_ns - before_ns;
}

/* Books what ends where for one leading thread, with B and its open WAITS. */
static void book_thread(struct accounts *a, const struct thread_group *leader,
                        const struct profile_thread *thread, struct booking *b,
                        struct open_waits *ret_waits)
{
    booking_init(b, a->g, a->h, thread);
    a->wall_ns += thread->end_ns - thread->start_ns;
    a->unseen_ns += (int64_t)((double)b->unseen_ns * b->stands_for);
    if (b->exact && a->n <= MOST_ASKING) { /* else no coincidence is known */
        book_children(a, b, booking_share(b, thread), &ret_waits->for_children);
        book_meanwhile(a, leader, b, booking_share(b, thread), &ret_waits->for_others);
    }
    for (size_t i = 0; i < b->n; i++) {
        const struct share *share = &b->shares[i];
        if (!share->times.n)
            continue;
        enum ledger_way way = share->thread == thread ? LEDGER_OWN
                              : share->chosen         ? LEDGER_MEANWHILE
                                                      : LEDGER_READ;
        struct account *account = account_of(a, groups_of(a->g, share->thread), way);
        account_add(account, thread, share->thread, &share->times);
        account->ns += booking_ns(b, &share->times);
    }
}

void accounts_init(struct accounts *a, const struct groups *g, struct holders *h,
                   const struct thread_group *leader)
{
    *a = (struct accounts){.g = g,
                           .h = h,
                           .n = leader->n,
                           .items = xcalloc(LEDGER_WAYS * g->n, sizeof *a->items),
                           .bookings = xcalloc(leader->n, sizeof *a->bookings),
                           .waits = xcalloc(leader->n, sizeof *a->waits)};
    for (size_t i = 0; i < a->n; i++) {
        const struct profile_thread *thread = leader->threads[i]->thread;
        if (thread->n_folded) /* sums over many, in no order */
            a->wall_ns += book_folded(a, thread);
        else
            book_thread(a, leader, thread, &a->bookings[i], &a->waits[i]);
    }
}

void accounts_release(struct accounts *a)
{
    for (size_t i = 0; i < LEDGER_WAYS * a->g->n; i++) {
        tally_release(&a->items[i].tally);
        free(a->items[i].leaders);
    }
    for (size_t i = 0; i < a->n; i++) {
        booking_release(&a->bookings[i]);
        intervals_release(&a->waits[i].for_children);
        intervals_release(&a->waits[i].for_others);
    }
    free(a->items);
    free(a->bookings);
    free(a->waits);
}
