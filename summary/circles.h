/* Circles of waits.  One without time-outs never ends, so the end of the recording shows it.
 * Private to the rules and what they use. */
#pragma once

#include "summary/rules.h"
#include "summary/wait_graph.h"

/* The waits at the end of the recording, with those circles in which all have waited together for
 * half a second, at least.  The caller releases them. */
struct wait_graph circles_find(const struct judgement *s);
/* Does a thread of GROUP wait in a circle of GRAPH, or behind one? */
bool circles_have(const struct judgement *s, const struct wait_graph *graph,
                  const struct thread_group *group);
/* For how long all of CYCLE have waited together without running; 0: it is no circle.  Who waits
 * for the GIL runs now and then all the same.  Two threads that take turns with the GIL wait for
 * each other at different moments, so waits for the GIL alone prove nothing. */
int64_t circles_ns(const struct judgement *s, const struct wait_graph *graph, int cycle);
const struct profile_thread *circles_thread(const struct judgement *s, const struct waiter *w);
/* The run of T's wait at the end of the recording; NULL: it does not wait.  A thread that
 * waits for the GIL runs every 5 ms, to ask for it again. */
const struct run *circles_last_wait(const struct judgement *s, const struct profile_thread *t);
