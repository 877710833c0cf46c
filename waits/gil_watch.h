/* Which thread runs which Python thread state: a process's GIL names its holder by the latter. */
#pragma once

#include "base/hash.h"
#include "capture/snapshot.h"
#include "profile/profile.h"

/* The threads by the thread states that they were last seen to run.  Zero-initialise. */
struct gil_watch {
    struct map threads;
};
/* THREAD was seen to run STATES, up to the first 0; PROCESS: its number. */
void gil_watch_see(struct gil_watch *w, uint32_t process, thread_id thread,
                   const uint64_t states[SNAPSHOT_HOOK_WORDS]);
/* Which thread was last seen to run STATE, a thread state of process PROCESS.  False: none. */
bool gil_watch_thread(const struct gil_watch *w, uint32_t process, uint64_t state, thread_id *ret);
void gil_watch_release(struct gil_watch *w);
