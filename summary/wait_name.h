/* What a function's name says of it, however its words are joined. */
#pragma once

#include <stdbool.h>

/* Does the last component of NAME ("FileLock::waitUntil_free") have one of PARTS, which are lower
 * case without a '_' and end in NULL?  One with a '$' must be its end.  In the words "block",
 * "clock" and "unlock" there is no "lock". */
bool wait_name_has(const char *name, const char *const *parts);
