/* What tasks of asyncio's wait for, in words: for the rules, and for a dump. */
#pragma once

#include "summary/rules.h"

/* The functions that WAIT's tasks are suspended in, outermost first; valid until the next look at a
 * stack. */
const struct shown_frame *task_stack(const struct judgement *s,
                                     const struct profile_task_wait *wait, size_t *ret_n);
/* Does it wait in a server's library, below the functions of the user's, for its own client? */
bool task_wait_is_for_client(const struct judgement *s, const struct profile_task_wait *wait);
/* Is it of the process of the thread LOOP? */
bool task_wait_is_of(const struct profile_task_wait *wait, const struct thread_summary *loop);
/* "handle ingest.py:40 > Queue.put", of a suspended task's N functions, outermost first; CALLERS:
 * with so many more before "handle", and if they are more than one with the outermost. */
void task_add_stack(const struct shown_frame *frames, size_t n, size_t callers, struct text *words);
void task_add_functions(const struct judgement *s, const struct profile_task_wait *wait,
                        size_t callers, struct text *words);
/* What part of its time the thread LOOP polls in an event loop of asyncio's; 0 also where no task
 * waits: then no stack needs a look. */
double task_loop_idle_share(const struct judgement *s, const struct thread_summary *loop);
/* From here on the tasks wait for something else than for their turn to run. */
extern const double task_idle_share;
/* For GROUP, of one thread: " main runs their event loop and is idle 99% of its time. …" */
void task_add_loop(const struct judgement *s, const struct thread_group *group, struct text *words);
