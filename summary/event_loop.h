/* What threads do in event loops: for how long they poll, and what is between.  Private to the
 * rules. */
#pragma once

#include "summary/rules.h"
#include "summary/stalls.h"

/* Of its time: who idles less has a loop that does not get to it, or none. */
extern const double loop_idle_share;
struct loop {
    const char *kind; /* "asyncio"; NULL: no event loop */
    int64_t idle_ns;
    size_t polls;
};
/* Adds what T does in its event loop to LOOP, and the time between its polls to STALLS. */
void loop_see(const struct judgement *s, const struct profile_thread *t, struct loop *loop,
              struct stalls *stalls);
/* Does GROUP hardly ever idle in an event loop, if it has one? */
bool loop_never_idles(const struct judgement *s, const struct thread_group *group);

/* What a thread does in an event loop while it is on a CPU, or waits for one. */
struct loop_polls {
    const char *kind; /* of a library's loop; NULL: none of these polls */
    uint32_t node;    /* without a KIND: by which a function of the user's polls; 0: none does */
    int64_t poll_ns;
    int64_t waits_ns; /* blocked in the polls of that function */
    size_t polls;
    struct intervals rest; /* when it does not poll, but does not wait either; owned */
};
struct loop_polls loop_polls_of(const struct judgement *s, const struct profile_thread *t);
/* Does the loop of T poll again and again, as POLLS say, without ever waiting? */
bool loop_is_always_ready(const struct judgement *s, const struct thread_summary *t,
                          const struct loop_polls *polls);
/* Does that of one of GROUP's threads? */
bool loop_is_ready_of(const struct judgement *s, const struct thread_group *group);
