/* What a thread does at one moment, in the answer's terms, as the second half of a sentence. */
#pragma once

#include "base/text.h"
#include "profile/profile.h"
#include "summary/futex_kind.h"
#include "summary/spinning.h"

/* A system call that a thread is blocked in. */
struct state_call {
    const char *name, *object;         /* as in struct wait; OBJECT NULL: none, or unknown */
    const struct profile_mount *mount; /* that OBJECT is below; NULL: none, or unknown */
    const struct profile *profile;     /* MOUNT's */
    size_t most_columns;               /* of each name; of a longer one the end is shown */
};
/* "in read of /data/x (nfs4 nfs01:/export)", "sleeps (clock_nanosleep)" */
void state_add_call(struct text *out, const struct state_call *c);
/* "in a page fault"; not PAGE: "is off the CPU in no system call, cause unknown" */
void state_add_off_cpu(struct text *out, bool page);
/* "runs", "spins for the GPU"; if it WAITS "waits for a CPU" */
void state_add_on_cpu(struct text *out, bool waits, enum spin_kind spins);
/* "waits for mutex db", "waits for the GIL", "waits to be notified": for SIDE, of a wait of process
 * PID, or else as the functions of KIND say.  NOTIFIED: its condition is Python's. */
void state_add_wait(struct text *out, const struct profile *p, const struct wait_side *side,
                    pid_t pid, enum futex_kind kind, bool notified);
/* ", held by 12 refresh", as the caller calls a thread B; ", held by process 12 (sh)"; OWN: ", held
 * by itself".  Nothing of others. */
void state_add_holder(struct text *out, const struct profile *p, const struct blocker *b, bool own,
                      const char *holder);
