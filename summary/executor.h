/* The threads of the executors of a process that runs asyncio, and the tasks that need them.
 * Private to rules_executor.c and group_facts.c. */
#pragma once

#include "summary/rules.h"

struct executor {
    size_t tasks; /* that wait for what a thread does */
    bool more;    /* there may be more of them */
    size_t threads;
    bool one;                   /* their names are those of one executor's */
    struct thread_group *group; /* most of them; NULL: there are none, or some have time */
};
/* Of the process of the thread LOOP, which runs an event loop. */
struct executor executor_of(const struct judgement *s, const struct thread_summary *loop);
/* Does another thread of LOOP's process run an event loop, which is idle for MOST_IDLE of its time
 * or less?  Whose task is whose is not known. */
bool executor_has_other_loop(const struct judgement *s, const struct thread_summary *loop,
                             double most_idle);
/* Do more tasks wait than there are threads, none of which has time? */
bool executor_lacks_threads(const struct executor *e);
