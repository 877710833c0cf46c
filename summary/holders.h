/* The holders of the locks that the runs of a profile wait for, as far as both sides agree.  Looked
 * up once for each spot. */
#pragma once

#include "base/hash.h"
#include "summary/wait_side.h"

struct holders {
    const struct profile *p;
    struct view *v;
    struct wait_side *sides;
    size_t n, capacity;
    struct map by_spot;    /* index into SIDES */
    struct map by_thread;  /* pid and tid → the last thread of these */
    uint32_t *before;      /* by thread: the one before it of the same pid and tid; 0: none */
    struct map by_process; /* pid → the last thread of it */
    uint32_t *sibling;     /* by thread: the one before it of the same pid; 0: none */
};
/* Borrows P and V. */
void holders_init(struct holders *h, const struct profile *p, struct view *v);
/* The other side of AT's wait; valid until the next call. */
const struct wait_side *holders_side(struct holders *h, struct spot at);
/* Is whoever ends AT's wait of KINDS, 1 << enum blocker_kind?  Of a poll's descriptors one at
 * least, and all others too, but for those by which the process wakes itself. */
bool holders_is_for(struct holders *h, struct spot at, unsigned kinds);
/* Is AT's wait for addresses that are not this machine's loopback, whose process was not found?
 * Of this machine's own ones it is looked for. */
bool holders_is_remote(struct holders *h, struct spot at);
/* The thread that RUN's wait is for; NULL: unknown, or it is not recorded. */
const struct profile_thread *holders_thread(struct holders *h, const struct run *run);
/* The same; and where that is for a process its only thread.  Of several the kernel does not say
 * which: *RET_CHOSEN, and it is the main thread, at the other end of a socket the one that works
 * then. */
const struct profile_thread *holders_follow(struct holders *h, const struct run *run,
                                            bool *ret_chosen);
/* The main thread of process PID during RUN; NULL: that is not recorded. */
const struct profile_thread *holders_main(const struct holders *h, pid_t pid,
                                          const struct run *run);
void holders_release(struct holders *h);
