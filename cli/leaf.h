/* What a thread that is off the CPU waits for, as the synthetic innermost frame of its stack. */
#pragma once

#include "base/text.h"
#include "profile/profile.h"
#include "pyframes/py_gil.h"
#include "sampler/message.h"

/* Interns "futex [blocked]", "ioctl /dev/nvidiactl [blocked]", "[waiting for cpu]", "[page fault]", ….
 * PID: to name what a file descriptor is, as of now.  Returns none for a thread on a CPU. */
frame_id leaf_frame(struct profile *p, pid_t pid, const struct sample_message *m, enum py_gil gil);
/* What file descriptor FD of PID is: a path, "pipe", "socket", "eventfd"; "" if it cannot be told. */
void leaf_object(pid_t pid, uint64_t fd, struct text *out);
