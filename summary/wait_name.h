/* What a function's name says of it, however its words are joined. */
#pragma once

#include <stdbool.h>

/* Does the last component of NAME ("FileLock::waitUntil_free") have one of PARTS, which are letters
 * in lower case and end in NULL?  One with a '$' must be its end.  Where a part begins or ends with
 * a '_' a word must begin or end.  In the words "block", "clock" and "unlock" is no "lock". */
bool wait_name_has(const char *name, const char *const *parts);
