/* The locks that threads of a process wait for, and who waits for which.  A lock changes hands
 * while a thread waits on, so lock_reading.h reads them at each tick.  What their bytes mean
 * waits/futex_lock.h knows; here only the calls are left out that wait for no lock with a holder.
 * Private to sampler/. */
#pragma once

#include "base/duty_cycle.h"
#include "capture/message.h"

struct sampler;
struct thread;

enum { WATCHED_LOCKS = 64 };

struct watched_lock {
    uint64_t word;
    struct thread *newest; /* of those that wait for it; NULL: the place is free */
    int64_t read_ns;       /* when BYTES were; 0: never */
    uint32_t before;       /* of BYTES, those before the word */
    bool is_new;           /* a thread began to wait for it since */
    bool shared;           /* between processes */
    bool unread;           /* since READ_NS, for so long that the worker was told */
    uint8_t bytes[LOCK_BYTES];
};
struct lock_watch {
    struct watched_lock locks[WATCHED_LOCKS];
    size_t n;        /* places in use are below */
    int64_t look_ns; /* between two readings */
    bool ran;        /* a thread of the process may have run since the last one of them */
    struct duty_cycle reading;
};

/* May a thread that called futex(2) with ARGS wait for a lock that keeps its holder? */
bool lock_watch_wants(const uint64_t args[6]);
/* M is a sample of T, and not emitted yet: where T waits for a lock that lock is watched, and M
 * says so.  MAY_ALLOCATE: else a process's first is not. */
void lock_watch_sampled(struct sampler *s, struct thread *t, struct sample_message *m,
                        bool may_allocate);
/* How many of LOCK's bytes are read. */
uint32_t lock_watch_bytes(const struct watched_lock *lock);
/* T no longer waits as its last sample says, or is gone. */
void lock_watch_leave(struct thread *t);
