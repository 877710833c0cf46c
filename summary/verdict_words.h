/* What the answer and dump say alike of who will not go on by itself. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"

/* "is stopped by a signal (SIGSTOP, or Ctrl-Z's SIGTSTP): kill -CONT 12 resumes it": of process
 * PID; 0: without the way out.  TERMINAL, for whose read(2) the job was stopped: "is stopped
 * because its job reads /dev/tty in the background (SIGTTIN): …"; NULL: for none. */
void verdict_add_stopped(struct text *out, bool plural, pid_t pid, const char *terminal);
/* "is frozen with the cgroup (docker pause, …)"; WAY_OUT: and ": docker unpause, … resumes it" */
void verdict_add_frozen(struct text *out, bool plural, bool way_out);
/* " held by 12, which is not a thread of this process: it has ended, or …" */
void verdict_add_owner_gone(struct text *out, pid_t owner);
/* "Both threads wait for one another, without a time-out, for 4.0 s: only a signal can wake them.",
 * of the THREADS of a process.  One thread waits to be woken, or, if FOR_LOCK, for a lock.
 * FOR_NS 0: nobody knows how long. */
void verdict_add_stuck(struct text *out, size_t threads, bool for_lock, int64_t for_ns);
