/* Waits in code that began in the middle of other code of its thread, which may have the lock.
 * Source: signal-safety(7); the documentation of Python's queue.SimpleQueue.put(). */
#pragma once

#include "summary/view.h"

/* What it means that STACK, N frames, the outermost first, ends in a wait in a signal handler, for
 * a lock of the C library's that the handler's thread has, or in a finalizer of Python's, and the
 * way out: "It is in a signal handler, …".  NULL: it does not. */
const char *interrupted_words(const struct shown_frame *stack, size_t n);
