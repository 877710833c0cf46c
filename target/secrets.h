/* Command lines as they may be shown and stored: one line, secrets replaced by "***".  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { SECRETS_MAX_COMMAND_BYTES = 4096 }; /* longer lines are cut there, with "..." */

/* How much of ARGS, LEN bytes, is looked at: all, or as many whole arguments as fit into twice
 * what is shown. */
size_t secrets_looked_at(const char *args, size_t len);
/* Appends the arguments in ARGS, each ended by a NUL as in /proc/PID/cmdline, quoted for a shell
 * where needed.  LEN may be 0. */
void secrets_command_line(const char *args, size_t len, struct text *out);
/* Does NAME, LEN bytes, look like that of a secret ("api_key", "token")? */
bool secrets_is_name(const char *name, size_t len);
/* Calls EACH with every argument, masked but not quoted; the text is valid for the call. */
void secrets_each_argument(const char *args, size_t len,
                           void (*each)(void *ctx, const char *masked), void *ctx);
