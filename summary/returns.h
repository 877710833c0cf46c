/* Threads that come back to one wait again and again, as servers do and what works at a rate.
 * Private to the rules. */
#pragma once

#include "summary/rules.h"
#include "summary/stalls.h"

/* What GROUP's threads come back to, and what they do between. */
struct returns {
    struct call_path path; /* to the wait that has most of their time */
    struct call_path_keys keys;
    uint32_t function;     /* the user's that waits; 0: none */
    double share;          /* of their time they are there */
    uint64_t n;            /* how often they waited there */
    struct stalls *stalls; /* by thread */
    bool sleeps;           /* it waits for time to pass, as what works at a rate does */
    int64_t away_ns;       /* between two waits, on average */
    /* It waits for whoever has connected; or that function calls whatever else they do, as one that
     * serves requests does. */
    bool serves;
};
/* False: GROUP's threads do not wait for requests, or for time, most of their time, and nothing is
 * to be released. */
bool returns_find(const struct judgement *s, struct thread_group *group, struct returns *ret);
/* What the longest time away from the wait is: one that a reader should know of for what it is
 * spent with, or only because it keeps requests waiting. */
enum returns_stall { NO_STALL, STALL_OF_REQUESTS, STALL_ODD };
enum returns_stall returns_stall(const struct judgement *s, struct thread_group *group,
                                 const struct returns *r);
/* Is GROUP asked for its stalls?  The main thread of a server is, also where others do more. */
bool returns_are_asked(const struct judgement *s, const struct thread_group *group);
/* " It spends 60% of its other time in handle a.py:3.", where GROUP waits for requests most of
 * its time. */
void returns_add_rest(const struct judgement *s, struct thread_group *group, struct text *words);
void returns_release(struct returns *r, const struct thread_group *group);
