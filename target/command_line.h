/* The command line of a process, as it may be shown and stored. */
#pragma once

#include <sys/types.h>

#include "base/text.h"

/* Appends /proc/PID/cmdline as one line, secrets masked; "[comm]" if it has none, nothing if the
 * process is gone. */
void command_line_of(pid_t pid, struct text *out);
/* The same by arguments.  False: there are none, or they cannot be read. */
bool command_line_each(pid_t pid, void (*each)(void *ctx, const char *masked), void *ctx);
