/* From the numbers the user gave to the processes to sample, or to the reason why not. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/options.h"
#include "worker/recording.h"

/* Checks every number of O->pids before anything is attached to; a tid stands for its process, and
 * the user is told.  One that cannot be sampled is a warning if another can be, else an error,
 * which takes two seconds: what /proc shows of a process that may not be attached to is shown then.
 * *RET_ONE_MISSING: one cannot be.
 * Returns EXIT_OK, with the processes in RET (*RET_N of them, each once; the caller frees), or the
 * code to exit with. */
int targets_check(const struct options *o, pid_t **ret, size_t *ret_n, bool *ret_one_missing);
/* The same for a command that was launched, which runs on in any case: what forbids sampling it is a
 * warning.  One that has ended already is EXIT_OK. */
int targets_check_command(pid_t pid);
/* Adds PIDS to R.  One that cannot be added sets *RET_ONE_MISSING, and is a warning if there are more.  Returns 0 if any was
 * added, else what recording_add() said of the last, with ERR. */
int targets_add(struct recording *r, const pid_t *pids, size_t n, bool *ret_one_missing,
                struct err *err);
/* Warns, the first time it finds any, that children of PIDS are not sampled; returns whether there are any.  Sees nothing where the
 * kernel has no /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN). */
bool targets_warn_of_children(const pid_t *pids, size_t n);
