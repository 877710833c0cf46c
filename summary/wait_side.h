/* The other side of a wait, where it may be told: what the bytes of a lock say (profile/wait.h) is
 * true of a lock of the C library's only if the functions on the stack wait for such a lock. */
#pragma once

#include "base/text.h"
#include "summary/view.h"

/* Of a thread with stack S, which V shows, in what S ends in.  Nothing (THING_UNKNOWN) where
 * functions and bytes do not agree; `timed` and `inside` are set either way. */
struct wait_side wait_side_of(const struct profile *p, struct view *v, stack_id s);
/* Does the kernel tell of THING, so that no functions have to agree? */
bool wait_side_is_kernels(enum wait_thing thing);
/* "mutex", "rwlock", "join", "gil", "lock", "file-lock", "child", "pipe", "socket", "poll"; NULL:
 * unknown.  As dump --json has it. */
const char *wait_thing_name(enum wait_thing thing);
/* "a mutex", "the end", "the GIL": what a sentence has behind "waits for". */
const char *wait_thing_words(enum wait_thing thing);
