/* Starts the program to be sampled, as a child of wallspy. */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"

/* Runs ARGV, found by PATH, as a child with signal mask MASK.  Returns after the child's execve, so
 * that the program is sampled and not its launcher.  wallspy does not ignore SIGCHLD from here on;
 * the program does if wallspy did.  Returns 0 and the pid; −ENOENT: not found; another negative
 * errno: it cannot be executed, with ERR. */
int launch_start(pid_t *ret, char *const argv[], const sigset_t *mask, struct err *err);
/* Sets ERR to why COMMAND could not be executed: ERROR, of execve(2).  Returns -ERROR. */
int launch_exec_failed(const char *command, int error, struct err *err);
/* Waits for the child's end through all signals, while no sampler's thread runs.  Returns 0 and its
 * status as of waitpid(2); a negative errno: the kernel does not say how, or whether, it ended. */
int launch_wait(pid_t pid, int *ret_status);
/* STATUS as a shell gives it: the exit code, or 128 + signal. */
int launch_exit_code(int status);
