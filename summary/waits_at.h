/* The waits of a group at one place, one after the other. */
#pragma once

#include "summary/rules.h"

struct waits_at {
    const struct judgement *s;
    const struct thread_group *group;
    uint32_t node;
    size_t i, k; /* of the thread and the run that come next */
    const struct profile_thread *thread;
    const struct run *run;
};
/* Borrows S and GROUP. */
struct waits_at waits_at(const struct judgement *s, const struct thread_group *group,
                         uint32_t node);
/* Sets THREAD and RUN, a run in which it is blocked at the place.  False: there is no more. */
bool waits_at_next(struct waits_at *w);
