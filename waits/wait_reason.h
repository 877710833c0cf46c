/* Why a thread is off the CPU, from the sampler's message. */
#pragma once

#include "base/name_limiter.h"
#include "base/text.h"
#include "profile/profile.h"
#include "waits/wait_host.h"

/* The wait of S's thread, without another side; WAIT_NONE for a thread on a CPU.  FILES: of paths
 * beyond the first thousand only the directory is kept. */
struct wait wait_reason(struct profile *p, const struct wait_sample *s, struct name_limiter *files);
/* The same of a thread that is blocked, or was until it was woken a moment ago. */
struct wait wait_reason_blocked(struct profile *p, const struct wait_sample *s,
                                struct name_limiter *files);
/* Is PATH a device's?  Its own name says more than the file system that it is listed in. */
bool wait_is_device(const char *path);
/* The object of the call that M's thread is blocked in, as `struct wait` has it; "": unknown. */
void wait_object(const struct sample_message *m, struct text *out);
