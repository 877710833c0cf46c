/* A signal handler that waits for what it interrupted: a lock of the C library's that the thread
 * itself has.  Source: signal-safety(7). */
#pragma once

#include "summary/view.h"

/* Does STACK, N frames, the outermost first, end in such a wait? */
bool handler_waits_for_interrupted(const struct shown_frame *stack, size_t n);
/* "It is in a signal handler, …": what that means, and the way out. */
extern const char handler_words[];
