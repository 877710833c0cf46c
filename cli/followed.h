/* Messages about the processes that --subprocesses records: the children that a launcher waits for,
 * and those that are left when it has ended. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "worker/recording.h"

/* Is PID, of R, a launcher: is it no rank itself, has it hardly run in the time from BEFORE_NS, its
 * CPU time when R began, and are descendants recorded? Watch it for a while before you say so. */
bool followed_is_launcher(struct recording *r, pid_t pid, int64_t before_ns);
/* The CPU time that PID has used so far; −1: it is gone. */
int64_t followed_cpu_ns(pid_t pid);
/* "16943 (torchrun) only waits for its children: sampling rank0 17000 and rank1 17001 (2 of 2),
 * 100 Hz" */
void followed_tell_launcher(struct recording *r, pid_t pid);
/* COMMAND has ended: says, in one line, which of its descendants still run. */
void followed_tell_left(struct recording *r, pid_t command);
