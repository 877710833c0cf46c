/* What a blocked thread waits for, where its system call takes a file descriptor.  Read together with its stack: a moment
 * later that descriptor may be another file's. */
#pragma once

#include "sampler/message.h"
#include "sampler/recorder.h"

/* Adds the link /proc/PID/fd/N of M's snapshot to what R holds for M.  None is added where there is none, or no room.  A
 * thread may be held.  Source: proc(5). */
void object_read(struct recorder *r, pid_t pid, struct sample_message *m);
