/* The accounts of the leading threads by the groups in which their time ends.  Private to the
 * ledger. */
#pragma once

#include "summary/ledger.h"
#include "summary/ledger_book.h"

/* What of the leaders' time ends in the threads of one group. */
struct account {
    struct thread_group *group;
    struct tally tally;
    const struct profile_thread **leaders; /* of each span of TALLY */
    size_t capacity;
    int64_t ns;
    enum ledger_way way;
};
struct accounts {
    const struct groups *g;
    struct holders *h;
    struct account *items;    /* of each group LEDGER_WAYS */
    struct booking *bookings; /* of each leading thread; the tallies borrow their intervals */
    size_t n;
    int64_t wall_ns, unseen_ns; /* as the ledger's */
};
/* Follows the time of the threads of LEADER.  G and H are borrowed as long as A is used. */
void accounts_init(struct accounts *a, const struct groups *g, struct holders *h,
                   const struct thread_group *leader);
void accounts_release(struct accounts *a);
/* Adds what of LEADER's time ends in THREAD: some TIMES, in order, borrowed. */
void account_add(struct account *account, const struct profile_thread *leader,
                 const struct profile_thread *thread, const struct intervals *times);
