/* Starting the program to be sampled, as a child of wallspy. */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"

/* Runs ARGV (found by PATH) as a child with signal mask MASK, and returns once it has called execve, so
 * that what is sampled is the program and not its launcher.  From here on we do not ignore SIGCHLD, if we
 * did; the program does as if we had not been there.  Returns 0 and the pid; −ENOENT: not found;
 * another negative errno: it cannot be executed; ERR says so. */
int launch_start(pid_t *ret, char *const argv[], const sigset_t *mask, struct err *err);
/* ERR says why COMMAND could not be executed: ERROR, of execve(2).  Returns -ERROR. */
int launch_exec_failed(const char *command, int error, struct err *err);
/* Waits for the child's end, whatever signals come.  Only when no sampler's thread runs.  Returns 0 and its
 * status as of waitpid(2), or a negative errno: how it ended, and whether, cannot be learnt. */
int launch_wait(pid_t pid, int *ret_status);
/* What a shell would say of it: the exit code, or 128 + signal. */
int launch_exit_code(int status);
