/* The lock around the word that a thread waits on in futex(2), and its holder: the layouts of glibc
 * 2.25 and later on x86-64, by their bytes alone.  Pure.
 * Source: glibc sysdeps/nptl/bits/struct_mutex.h, sysdeps/x86/nptl/bits/struct_rwlock.h,
 * nptl/pthreadP.h (kinds), nptl/pthread_mutex_lock.c, nptl/pthread_rwlock_common.c,
 * nptl/pthread_join_common.c, nptl/descr.h; linux/futex.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/wait.h"
#include "target/mem.h"

struct futex_lock {
    enum wait_thing thing; /* THING_UNKNOWN: the bytes are of no lock that names its holder */
    pid_t owner;           /* in the owner's own pid namespace; 0: nobody, or unknown */
    uint64_t addr;         /* of the lock; 0: of a thread */
    bool shared;           /* between processes: the owner may be in another one */
    bool timed;            /* the call has a time-out; known whatever the thing is */
    bool passing;          /* unknown, but so is an rwlock that is just given on */
};
/* ARGS: of the call futex(2).  MEM: recorded with it, or live.  Bytes that fit by chance are taken
 * for a lock: the functions on the stack have to say so, too. */
struct futex_lock futex_lock_decode(const uint64_t args[6], struct mem *mem);
