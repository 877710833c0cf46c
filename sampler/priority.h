/* How the sampler's thread is scheduled beside those that it samples.  Private to sampler/. */
#pragma once

#include <sys/types.h>

/* Lets the calling thread, the sampler's, have a CPU sooner when it wakes, and not more of it. */
void priority_set(void);
/* Warns if thread TID of the target keeps the calling thread, the sampler's, off its only CPU. */
void priority_check(pid_t tid);
