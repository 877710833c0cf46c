/* How the sampler's thread is scheduled beside the threads that it samples.  Private to sampler/. */
#pragma once

#include <sys/types.h>

/* Call on the sampler's thread: it gets a CPU sooner when it wakes, and no more of it than before. */
void priority_set(void);
/* The same thread, once for each thread TID of the target: warns if TID keeps the sampler off its only CPU. */
void priority_check(pid_t tid);
