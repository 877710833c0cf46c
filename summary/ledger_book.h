/* The account of one leading thread: where each nanosecond of it ends.  Private to the ledger. */
#pragma once

#include "summary/groups.h"
#include "summary/holders.h"

/* What of the leading thread's time ends in THREAD. */
struct share {
    const struct profile_thread *thread;
    struct intervals times; /* in order, disjoint */
    bool chosen;            /* of some of it only the process was read (holders_follow()) */
    /* Taken out of TIMES: waits for its children, and for others, whose other side was not read. */
    struct intervals for_children, for_others;
};
struct booking {
    const struct profile_thread *leader;
    struct share *shares;
    size_t n, capacity;
    struct map by_thread; /* index into SHARES by the thread's address */
    int64_t unseen_ns;    /* of the leading thread no sample tells */
    /* What a nanosecond of the shares stands for: of a coarsened time line only the exact time was
     * followed. */
    double stands_for;
    bool exact; /* false: there is no exact time of the leading thread, and all was followed */
};
/* Follows each wait of THREAD's to those whom it is for, and whom these wait for, over the same
 * time: the exact time, which stands for all.  G and H are borrowed during the call. */
void booking_init(struct booking *b, const struct groups *g, struct holders *h,
                  const struct profile_thread *thread);
void booking_release(struct booking *b);
/* The leading thread's time that TIMES of B's shares stand for. */
int64_t booking_ns(const struct booking *b, const struct intervals *times);
