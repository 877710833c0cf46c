/* A process all of whose threads wait for what only one of them could do, in no circle that can be
 * read.  Private to the rules and what they use. */
#pragma once

#include "summary/rules.h"
#include "summary/wait_graph.h"

struct stuck {
    process_id process;
    size_t threads;           /* 0: there is no such process */
    int64_t start_ns, end_ns; /* for which all of them have waited together */
};
/* The first process that is stuck when the recording ends, unless one of its threads is in CIRCLES:
 * that says more. */
struct stuck stuck_find(const struct judgement *s, const struct wait_graph *circles);
/* Does GROUP have a thread of that process? */
bool stuck_has(const struct stuck *stuck, const struct thread_group *group);
/* The thread of that process in GROUP that is there at the end, and its last run; NULL: none is. */
const struct profile_thread *stuck_thread_of(const struct stuck *stuck,
                                             const struct thread_group *group);
const struct run *stuck_wait_of(const struct judgement *s, const struct stuck *stuck,
                                const struct thread_group *group);
