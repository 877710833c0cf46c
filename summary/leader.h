/* The group whose time the user misses: the answer is about where that ends. */
#pragma once

#include "summary/groups.h"
#include "summary/holders.h"

/* The group that is asked for; else that of the main thread.  Where that only rests, waits for
 * others' end or for whoever comes (a server, a supervisor), the group that does most, first of all
 * of those whose end it waits for; NULL: there is none.  Where the main thread mostly waits for the
 * end of one thread, and of no other, all this holds for that one instead. */
struct thread_group *leader_of(const struct groups *g, struct holders *h);
/* The group of the thread that the view's options ask for; NULL: for none, or it is not there. */
struct thread_group *leader_asked_for(const struct groups *g);
/* Are GROUP's threads started for one job each, as some servers' for each request?  There are many,
 * one after the other: none of them waits for work. */
bool leader_is_of_jobs(const struct groups *g, const struct thread_group *group);
