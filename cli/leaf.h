/* What a thread that is off the CPU waits for, as the synthetic innermost frame of its stack. */
#pragma once

#include "base/hash.h"
#include "base/text.h"
#include "profile/profile.h"
#include "pyframes/py_gil.h"
#include "sampler/message.h"

/* Files that threads waited for.  A program may read any number of them, and each would make stacks of its own: of
 * those beyond the first thousand only the directory is named.  Zero-initialise; the caller releases the map. */
struct leaf_files {
    struct map seen; /* hashes of their paths */
};

/* Interns "futex [blocked]", "ioctl /dev/nvidiactl [blocked]", "[waiting for cpu]", "[page fault]", ….
 * PID: to ask who traces it.  Returns none for a thread on a CPU. */
frame_id leaf_frame(struct profile *p, pid_t pid, const struct sample_message *m, enum py_gil gil,
                    struct leaf_files *files);
/* What M's thread waits for: a path, "pipe", "socket", "eventfd"; "" if it cannot be told. */
void leaf_object(const struct sample_message *m, struct text *out);
