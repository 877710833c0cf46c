/* What a thread that is off the CPU waits for, as the synthetic innermost frame of its stack. */
#pragma once

#include "base/text.h"
#include "profile/profile.h"
#include "pyframes/py_gil.h"
#include "sampler/message.h"
#include "worker/few_names.h"

/* Interns "futex [blocked]", "ioctl /dev/nvidiactl [blocked]", "[waiting for cpu]", "[page fault]", ….
 * PID: to ask who traces it.  FILES: of those waited for only the directory is named beyond the first thousand.
 * Returns none for a thread on a CPU. */
frame_id leaf_frame(struct profile *p, pid_t pid, const struct sample_message *m, enum py_gil gil,
                    struct few_names *files);
/* The same of a thread that is blocked, or was until it was woken a moment ago. */
frame_id leaf_blocked(struct profile *p, const struct sample_message *m, enum py_gil gil,
                      struct few_names *files);
frame_id leaf_waiting_for_cpu(struct profile *p);
/* What M's thread waits for: a path, "pipe", "socket", "eventfd"; "" if it cannot be told. */
void leaf_object(const struct sample_message *m, struct text *out);
