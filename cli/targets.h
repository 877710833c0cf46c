/* Finds the processes to sample from the numbers that the user gave, or the reason why not. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/options.h"
#include "worker/recording.h"

/* Checks every number of O->pids before anything is attached to.  A tid stands for its process,
 * with a message.  A process that cannot be sampled is a warning if another can be, else an error;
 * for a process that may not be attached to, the error takes two seconds, which proc_only_view()
 * needs. *RET_ONE_MISSING: at least one cannot be sampled.
 * Returns EXIT_OK, with the processes in RET (*RET_N of them, each once; the caller frees), or the
 * code to exit with. */
int targets_check(const struct options *o, pid_t **ret, size_t *ret_n, bool *ret_one_missing);
/* The same for a command that was launched.  It runs on in any case, so an obstacle is a warning.
 * A command that has ended already is EXIT_OK. */
int targets_check_command(pid_t pid);
/* Adds PIDS to R, and starts it.  A process that cannot be added sets *RET_ONE_MISSING, and is a
 * warning if there are more.  Returns 0, or with ERR the last error of recording_add(), if none was
 * added, else that of recording_start(). */
int targets_start(struct recording *r, const pid_t *pids, size_t n, bool *ret_one_missing,
                  struct err *err);
