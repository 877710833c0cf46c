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
/* Does STACK end in the poll of an event loop, which then has nothing to do?  epoll_wait(2) always
 * is one; poll(2), select(2) and io_uring_enter(2) only below the loops of known libraries.
 * Returns the loop's name ("asyncio", "epoll"); NULL: it does not. */
const char *idle_event_loop(const struct shown_frame *stack, size_t n);
/* Does STACK end in a wait that a thread with nothing to do would be in: a lock, a poll, a sleep,
 * a read from a pipe?  Not so: ioctl, a regular file, a page fault, the GIL. */
bool idle_is_ordinary_wait(const struct shown_frame *stack, size_t n);
