#include "summary/ledger_account.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/share.h"
#include "summary/commands.h"
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
static bool is_for_other_process(const struct accounts *a, const struct profile_thread *thread,
                                 const struct run *run)
{
    if (cause_of_run(a->g->tree, a->g->v, run) != CAUSE_PEER)
        return false;
    return holders_side(a->h, run->at)->blocker.pid !=
           profile_see_process(a->g->p, thread->process)->pid;
}

/* Is RUN, of THREAD, a wait for somebody who may be BUSY so?  A thread that is kept from its work
 * ends no wait for another process, and nobody here one for another machine. */
static bool is_open_wait(const struct accounts *a, const struct profile_thread *thread,
                         const struct run *run, enum busy_with busy)
{
    enum wait_class class = class_of_run(a->g->tree, run);
    if (class == CLASS_GIL)
        return true;
    return class == CLASS_ORDINARY && !holders_is_remote(a->h, run->at) &&
           !(busy == BUSY_KEPT && is_for_other_process(a, thread, run));
}

/* Splits the time of SHARE in its thread's waits for somebody who may be BUSY so, and the rest. */
static void split_waits(const struct accounts *a, const struct share *share, enum busy_with busy,
                        struct intervals *ret_waits, struct intervals *ret_rest)
{
    struct run_parts p = run_parts_of(share->thread, share->times.items, share->times.n);
    *ret_waits = *ret_rest = (struct intervals){.n = 0};
    while (run_parts_next(&p))
        intervals_join(is_open_wait(a, share->thread, p.run, busy) ? ret_waits : ret_rest, p.when);
}

/* Books WAITS, of SHARE's thread, with BUSY. */
static void book_waits(struct accounts *a, const struct booking *b, struct thread_group *busy,
                       const struct intervals *waits)
{
    struct account *account = account_of(a, busy, LEDGER_MEANWHILE);
    for (size_t i = 0; i < busy->n; i++)
        account_add(account, b->leader, busy->threads[i]->thread, waits);
    account->ns += booking_ns(b, waits);
}

/* Leaves REST of SHARE's time. */
static void keep(struct share *share, struct intervals rest)
{
    intervals_release(&share->times);
    share->times = rest;
}

/* For how long T lived. */
static int64_t life_ns(const struct profile_thread *t)
{
    return t->n_folded ? t->lived_ns : t->end_ns - t->start_ns;
}

/* The commands of PARENT: their main threads, which end them. */
static int64_t commands_life_ns(const struct groups *g, process_id parent)
{
    int64_t ns = 0;
    for (size_t i = 0; i < g->summaries.n; i++) {
        const struct profile_thread *t = g->summaries.threads[i].thread;
        ns += commands_has(g->p, t, parent) && groups_of(g, t) ? life_ns(t) : 0;
    }
    return ns;
}

/* Books WAITS with PARENT's commands, by the parts of their lives that each has: who starts one
 * after the other waits for each, and those that have ended are sums, in no order. */
static void book_commands(struct accounts *a, const struct booking *b, process_id parent,
                          const struct intervals *waits)
{
    const int64_t all_ns = commands_life_ns(a->g, parent);
    for (size_t i = 0; i < a->g->summaries.n; i++) {
        const struct profile_thread *t = a->g->summaries.threads[i].thread;
        struct thread_group *group = groups_of(a->g, t);
        if (!group || !commands_has(a->g->p, t, parent))
            continue;
        struct account *account = account_of(a, group, LEDGER_MEANWHILE);
        tally_add_thread(&account->tally, t);
        add_leader(account, b->leader);
        account->ns += (int64_t)(share_of(life_ns(t), all_ns) * (double)booking_ns(b, waits));
    }
}

/* Does the process PARENT start one command after the other? */
static bool has_commands(const struct groups *g, process_id parent)
{
    const struct commands commands = commands_of(g->p, parent);
    return commands_in_turn(g->p, &commands) && commands_life_ns(g, parent) > 0;
}

/* Splits the time of SHARE in its thread's waits for children, and the rest. */
static void split_waits_for_children(const struct accounts *a, const struct share *share,
                                     struct intervals *ret_waits, struct intervals *ret_rest)
{
    struct run_parts p = run_parts_of(share->thread, share->times.items, share->times.n);
    *ret_waits = *ret_rest = (struct intervals){.n = 0};
    while (run_parts_next(&p)) {
        bool is_wait =
            p.run->state == RUN_BLOCKED && cause_of_run(a->g->tree, a->g->v, p.run) == CAUSE_CHILD;
        intervals_join(is_wait ? ret_waits : ret_rest, p.when);
    }
}

/* Books the waits of SHARE's thread for its children, if these are alike or take turns, whatever
 * they do. */
static void book_children(struct accounts *a, const struct booking *b, struct share *share)
{
    process_id parent = share->thread->process;
    struct thread_group *children = groups_of_children(a->g, parent);
    struct intervals *waits = &share->for_children;
    struct intervals rest;
    if (!children && !has_commands(a->g, parent))
        return;
    split_waits_for_children(a, share, waits, &rest);
    if (waits->n && children)
        book_waits(a, b, children, waits);
    else if (waits->n)
        book_commands(a, b, parent, waits);
    keep(share, rest);
}

/* Books the open waits of SHARE's thread with those who are BUSY so meanwhile, if these are one
 * group.  Is anybody busy so? */
static bool book_meanwhile(struct accounts *a, const struct booking *b, struct share *share,
                           enum busy_with busy)
{
    struct intervals *waits = &share->for_others;
    struct intervals rest;
    struct meanwhile m = {.busy = NULL};
    split_waits(a, share, busy, waits, &rest);
    if (waits->n)
        m = meanwhile_of(a->g, groups_of(a->g, share->thread), busy, waits);
    if (m.busy) {
        book_waits(a, b, m.busy, waits);
        keep(share, rest);
        return true;
    }
    intervals_release(waits);
    intervals_release(&rest);
    return m.candidates > 0;
}

/* Books the waits of SHARE's thread whose other side was not read.  Those of its process who are
 * kept from their work may be so by that thread itself: they stand for a leading thread's waits
 * alone, for which nobody on the way waits. */
static void book_open_waits(struct accounts *a, const struct booking *b, struct share *share)
{
    book_children(a, b, share);
    if (!book_meanwhile(a, b, share, BUSY_WORK) && share->thread == b->leader)
        (void)book_meanwhile(a, b, share, BUSY_KEPT);
}

/* Does much of the time of B's leading thread end in SHARE?  To look for others takes a while. */
static bool is_much(const struct booking *b, const struct share *share)
{
    static const double much = 0.1;
    int64_t all_ns = b->leader->end_ns - b->leader->start_ns;
    return (double)booking_ns(b, &share->times) >= much * (double)all_ns;
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

/* Books what ends where for one leading thread, with B. */
static void book_thread(struct accounts *a, const struct profile_thread *thread, struct booking *b)
{
    booking_init(b, a->g, a->h, thread);
    a->wall_ns += thread->end_ns - thread->start_ns;
    a->unseen_ns += (int64_t)((double)b->unseen_ns * b->stands_for);
    bool asks = b->exact && a->n <= MOST_ASKING; /* else no coincidence is known */
    for (size_t i = 0; asks && i < b->n; i++)
        if (b->shares[i].thread == thread || is_much(b, &b->shares[i]))
            book_open_waits(a, b, &b->shares[i]);
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
                           .bookings = xcalloc(leader->n, sizeof *a->bookings)};
    for (size_t i = 0; i < a->n; i++) {
        const struct profile_thread *thread = leader->threads[i]->thread;
        if (thread->n_folded) /* sums over many, in no order */
            a->wall_ns += book_folded(a, thread);
        else
            book_thread(a, thread, &a->bookings[i]);
    }
}

void accounts_release(struct accounts *a)
{
    for (size_t i = 0; i < LEDGER_WAYS * a->g->n; i++) {
        tally_release(&a->items[i].tally);
        free(a->items[i].leaders);
    }
    for (size_t i = 0; i < a->n; i++)
        booking_release(&a->bookings[i]);
    free(a->items);
    free(a->bookings);
}
