/* Threads that wait, for a condition or a semaphore, whenever another one is in some function, and
 * hardly at other times.  Neither has an owner that could be read: that the times agree is what
 * tells who keeps them. */
#pragma once

#include "summary/call_path.h"
#include "summary/rules.h"

struct lockstep_other {
    struct thread_group *group;
    struct call_path path; /* to its waits */
    bool turns;            /* one thread, and the other one waits whenever this does not */
};
struct lockstep {
    struct lockstep_other *items;
    size_t n, capacity;
    bool agrees; /* they wait while the thread is in its function, and hardly at other times */
};
/* Who waits so while GROUP's only thread is in the user's function that NODE is in; if nobody does,
 * the first that takes turns with it. */
struct lockstep lockstep_of(const struct judgement *s, const struct thread_group *group,
                            uint32_t node);
/* Adds " Meanwhile, and hardly at other times, 4 orders threads wait in session db.py:36, 77% of
 * their time: export has, or makes, what they need.", of GROUP and ALL. */
void lockstep_add(const struct lockstep *all, const struct thread_group *group, struct text *words);
void lockstep_release(struct lockstep *all);
