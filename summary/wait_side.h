/* The other side of a wait, where it is proven: the bytes of a lock of the C library
 * (profile/wait.h) mean what they say only if the functions on the stack wait for such a lock. */
#pragma once

#include "base/text.h"
#include "summary/view.h"

/* The other side of the wait of a thread AT, which V shows.  Nothing
 * (THING_UNKNOWN) where functions and bytes do not agree; `timed` and `inside` are set either
 * way. */
struct wait_side wait_side_of(const struct profile *p, struct view *v, struct spot at);
/* Does the kernel itself name THING, so that no functions have to agree? */
bool wait_side_is_kernels(enum wait_thing thing);
/* Is SIDE for one peer or child, and for no other that may come?  Then a poll is none of a loop
 * that serves many. */
bool wait_side_is_for_one(const struct wait_side *side);
/* "mutex", "rwlock", "join", "gil", "lock", "file-lock", "child", "pipe", "socket", "poll"; NULL:
 * unknown.  As dump --json has it. */
const char *wait_thing_name(enum wait_thing thing);
/* "a mutex", "the end", "the GIL": what a sentence has behind "waits for". */
const char *wait_thing_words(enum wait_thing thing);
/* The same of SIDE, with its name where it has one: "mutex db". */
void wait_side_add_thing(struct text *out, const struct profile *p, const struct wait_side *side);
