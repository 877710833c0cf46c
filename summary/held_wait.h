/* For whom a group waits in futex(2): for who holds a lock, for a thread that is to end.  Private
 * to the rules and what they use. */
#pragma once

#include "summary/rules.h"

enum { HELD_LOCKS = 1U << FUTEX_LOCK | 1U << FUTEX_RWLOCK, HELD_JOINS = 1U << FUTEX_JOIN };
/* A group's waits of the kinds KINDS, 1 << enum futex_kind. */
struct held_wait {
    unsigned kinds;
    int64_t ns, held_ns, gone_ns; /* in all; with a holder; with one that is no thread */
    struct thread_group *holder;  /* of most of it; NULL: none */
    int64_t holder_ns;
    struct wait_side side; /* the holder's last; its ADDR is 0 if it had several locks */
    struct wait_side gone; /* the last whose holder is no thread */
};
struct held_wait held_wait_of(const struct judgement *s, const struct thread_group *group,
                              unsigned kinds);
/* The same of the time that T has. */
struct held_wait held_wait_in(const struct judgement *s, const struct tally *t, unsigned kinds);
/* Is RUN a wait of KINDS? */
bool held_wait_is(const struct judgement *s, const struct run *run, unsigned kinds);
/* Is most of W for one that is no thread of the process? */
bool held_wait_is_gone(const struct held_wait *w);
/* Is W, of GROUP, for one other group, or one that is no thread, as far as that was read? */
bool held_wait_is_explained(const struct thread_group *group, const struct held_wait *w);
/* Is it long, explained, and not only the wait for the end of one that works? */
bool held_wait_is_news(const struct thread_group *group, const struct held_wait *w);

/* The holder of the locks that a group waits for, where it was read in most of that time. */
enum held_by { HELD_UNKNOWN, HELD_BY_ONE, HELD_BY_SEVERAL };
/* LOCKS: GROUP's waits of HELD_LOCKS. */
enum held_by held_by_whom(const struct thread_group *group, const struct held_wait *locks);
