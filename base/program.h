/* Runs another program and takes its output. */
#pragma once

#include <stdint.h>

#include "base/text.h"

enum { PROGRAM_OUTPUT_BYTES = 64 * 1024 };

/* Runs ARGV[0], looked for in PATH, with the environment ENV (NULL at its end, as ARGV), no input,
 * default signals and a process group of its own, so that Ctrl-C is not for it.  Appends its stdout
 * and stderr to RET, PROGRAM_OUTPUT_BYTES at most.  Returns 0 once it has closed both; a negative
 * errno if it could not be started (-ENOENT: there is none); -ETIMEDOUT if LIMIT_NS passed before:
 * it is killed then, except before Linux 5.3, where nothing names a process for good.  It does not
 * say how the program ended, because the sampler may reap it.  Any thread may call this; no thread
 * of a target may be held by the caller. */
int program_run(char *const argv[], char *const env[], int64_t limit_ns, struct text *ret);
