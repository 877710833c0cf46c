/* Which thread holds the GIL that another waits for. */
#pragma once

#include "base/hash.h"
#include "profile/profile.h"

struct built_stack;

/* The threads by the thread states that they were last seen to run.  Zero-initialise. */
struct gil_watch {
    struct map threads;
};
/* A sample of THREAD gave STACKED; PROCESS: its number.  Puts the holder of the GIL that it waits
 * for into the profile, if that thread was seen before. */
void gil_watch_see(struct gil_watch *w, struct profile *p, uint32_t process, thread_id thread,
                   const struct built_stack *built);
/* Which thread was last seen to run STATE, a thread state of process PROCESS.  False: none. */
bool gil_watch_thread(const struct gil_watch *w, uint32_t process, uint64_t state, thread_id *ret);
void gil_watch_release(struct gil_watch *w);
