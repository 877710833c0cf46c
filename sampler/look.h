/* What /proc tells of a thread of the target, by files that stay open: its counts, what it does.
 *
 * With more threads than file descriptors the files of others are closed for it.  The target runs. */
#pragma once

#include "sampler/task.h"
#include "target/proc.h"

struct sampler;

/* An fd of T's, others being closed to make room for it.  Negative errno: none to be had. */
int look_fd(struct sampler *s, struct task *t, enum task_file file);
/* Reads the thread's counts.  0, -ESRCH or what reading says; without live counts: zeros. */
int look_counts(struct sampler *s, struct task *t, struct schedstat *ret);
/* Reads its status.  0 or negative, as task_status_read(), or what opening it says. */
int look_status(struct sampler *s, struct task *t, struct task_status *ret);
/* Reads /proc's view of the thread.  -EAGAIN: the file is slow, left alone for now. */
int look_view(struct sampler *s, struct task *t, struct syscall_state *ret);
