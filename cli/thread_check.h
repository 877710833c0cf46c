/* Checks before a recording starts whether --thread fits any thread. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "cli/options.h"

/* If no thread of PIDS matches O->threads the user reads which threads there are.  Returns EXIT_OK
 * where a thread matches, or may come to match: a name can still be given to one.  Else
 * EXIT_NO_SAMPLE.  No thread is stopped. */
int thread_check(const struct options *o, const pid_t *pids, size_t n);
