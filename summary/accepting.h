/* Is somebody there for whoever connects? */
#pragma once

#include "summary/rules.h"

/* Does a thread wait for whoever connects when the recording ends, or in an event loop, which may
 * do so?  Also where that is not known of all. */
bool somebody_accepts(const struct groups *g, struct holders *h);
/* Does RUN wait for a client that has connected, half a second or more each time? */
bool waits_long_for_client(struct holders *h, const struct run *run);
/* Does GROUP wait for a client that has connected, so long, and nobody for others? */
bool serves_one(const struct judgement *s, const struct thread_group *group);
/* Adds that, where it is so. */
void add_serves_one(const struct judgement *s, const struct thread_group *group,
                    struct text *words);
