/* Is a thread just a pool worker waiting for work?  Known by who called the wait: the loops of
 * well-known pools, and libraries whose threads are pools.  Shared by the speedscope file (folding)
 * and the closing table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "summary/view.h"

/* STACK outermost first, as shown.  Returns the frame of a known pool (OpenMP, BLAS, torch, arrow,
 * rayon, tokio, gRPC, Python's concurrent.futures and multiprocessing, …) that waits for work, or
 * NULL: works, waits for something else, or is no known pool. */
const struct shown_frame *idle_pool_wait(const struct shown_frame *stack, size_t n);
/* Does STACK end in the poll of a known library's event loop, which then has nothing to do?  A poll
 * in a callback is the callback's.  Returns the loop's name ("asyncio"); NULL: it does not.
 * summary/own_loops.h finds those of the program's own. */
const char *idle_event_loop(const struct shown_frame *stack, size_t n);
/* Is STACK in the poll of such a loop, whether that waits or not? */
const char *idle_polling_loop(const struct shown_frame *stack, size_t n);
/* Is F a call that polls, waiting or not, or a library's function for that? */
bool idle_polls(const struct shown_frame *f);
/* Does STACK end in a wait that a thread with nothing to do would be in: a lock, a poll, a sleep,
 * a read from a pipe?  Not so: ioctl, a regular file, a page fault, the GIL. */
bool idle_is_ordinary_wait(const struct shown_frame *stack, size_t n);
