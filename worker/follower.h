/* Adds the descendants of the recorded processes to the recording (--subprocesses). */
#pragma once

#include "base/err.h"
#include "profile/profile.h"
#include "worker/descendants.h"

struct follower;
/* ADD begins to record a process; it returns 0 or a negative errno, with ERR. */
struct follower *
follower_new(struct profile *p,
             int (*add)(void *ctx, pid_t pid, uint64_t start_ticks, struct err *err), void *ctx);
/* The user has named PID, which is recorded. */
void follower_add(struct follower *f, pid_t pid);
/* Adds those that were born since; WHOLE: also older ones.  Call it at least every 10 ms.  Counts
 * one that may not be attached, and says the cause.  Returns whether any was found.  F may be
 * NULL. */
bool follower_look(struct follower *f, bool whole);
struct follower *follower_free(struct follower *f); /* NULL is fine; returns NULL */
