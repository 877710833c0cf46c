/* What tasks of asyncio's wait for, and whether that is a fault.  Private to rules_tasks.c and
 * group_facts.c. */
#pragma once

#include "summary/rules.h"

/* "one lock"; NULL: no fault.  Where the innermost function is a subclass's, this says nothing
 * either. */
const char *task_fault_of(const struct judgement *s, const struct profile_task_wait *wait);
/* What most tasks of a process wait for: "one semaphore", "" if their functions have to say it;
 * NULL: these do not, or it is what tasks without work wait for. */
const char *task_fact_of(const struct judgement *s, const struct profile_task_wait *wait);
/* Do tasks wait in A for the same as in B, whoever calls that? */
bool task_waits_are_alike(const struct judgement *s, const struct profile_task_wait *a,
                          const struct profile_task_wait *b);
/* The tasks that wait for the same as those of WAIT, with those. */
size_t task_count_alike(const struct judgement *s, const struct profile_task_wait *wait);
typedef const char *task_judge(const struct judgement *s, const struct profile_task_wait *wait);
/* Of the process of LOOP the wait of most tasks that JUDGE has words for; NULL: there is none. */
const struct profile_task_wait *task_most(const struct judgement *s,
                                          const struct thread_summary *loop, task_judge *judge);
