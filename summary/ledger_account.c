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

/* Is RUN a wait for somebody? */
static bool is_open_wait(const struct groups *g, const struct run *run)
{
    enum wait_class class = class_of_run(g->tree, run);
    return class == CLASS_ORDINARY || class == CLASS_GIL;
}

/* Splits SHARE, of a leading thread, in its waits for somebody and the rest. */
static void split_waits(const struct groups *g, const struct share *share,
                        struct intervals *ret_waits, struct intervals *ret_rest)
{
    struct run_parts p = run_parts_of(share->thread, share->times.items, share->times.n);
    *ret_waits = *ret_rest = (struct intervals){.n = 0};
    while (run_parts_next(&p))
        intervals_join(is_open_wait(g, p.run) ? ret_waits : ret_rest, p.when);
}

/* Books the open waits of a leading thread with those who are busy meanwhile, if there are any. */
static void book_meanwhile(struct accounts *a, const struct thread_group *leader,
                           struct share *share, struct intervals *ret_waits)
{
    struct intervals rest;
    /* Where time was coarsened no coincidence is known. */
    if (profile_time_step_ns(a->g->p) > 0 || a->n > MOST_ASKING)
        return;
    split_waits(a->g, share, ret_waits, &rest);
    struct meanwhile m = {0};
    for (int with = BUSY_WORK; ret_waits->n && !m.candidates && with <= BUSY_OUTSIDE; with++)
        m = meanwhile_of(a->g, leader, (enum busy_with)with, ret_waits);
    if (!m.busy) {
        intervals_release(&rest);
        return;
    }
    struct account *account = account_of(a, m.busy, LEDGER_MEANWHILE);
    for (size_t i = 0; i < m.busy->n; i++)
        account_add(account, share->thread, m.busy->threads[i]->thread, ret_waits);
    account->ns += intervals_ns(ret_waits);
    intervals_release(&share->times);
    share->times = rest;
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
                        struct intervals *ret_waits)
{
    booking_init(b, a->g, a->h, thread);
    a->wall_ns += thread->end_ns - thread->start_ns;
    a->unseen_ns += b->unseen_ns;
    book_meanwhile(a, leader, booking_share(b, thread), ret_waits);
    for (size_t i = 0; i < b->n; i++) {
        const struct share *share = &b->shares[i];
        if (!share->times.n)
            continue;
        struct account *account = account_of(a, groups_of(a->g, share->thread),
                                             share->thread == thread ? LEDGER_OWN : LEDGER_READ);
        account_add(account, thread, share->thread, &share->times);
        account->ns += intervals_ns(&share->times);
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
        intervals_release(&a->waits[i]);
    }
    free(a->items);
    free(a->bookings);
    free(a->waits);
}
