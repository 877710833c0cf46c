/* The lock that a thread in futex(2) waits for: the bytes around the futex word are recorded with
 * its stack, so that both are of one moment.  waits/wait_owner.h explains them. */
#pragma once

#include "capture/snapshot.h"
#include "sampler/recorder.h"

/* How many bytes before the futex word are kept, and from it on: all of glibc's locks are within
 * (sysdeps/nptl/bits/struct_mutex.h, struct_rwlock.h), wherever in them the word is. */
enum { FUTEX_BYTES_BEFORE = 24, FUTEX_BYTES_FROM = 40 };

/* S: a capture that R holds.  If its thread waits in futex(2), or is about to, R reads those bytes,
 * too, in one or two system calls.  Bytes that are not mapped, or have no room, are left out.  The
 * thread may be held. */
void futex_bytes_read(struct recorder *r, const struct snapshot *s);
