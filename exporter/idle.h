/* Is a thread just a pool worker waiting for work?  Known by the outermost waits of well-known
 * pools. Shared by the speedscope file (folding) and the closing table. */
#pragma once

#include <stdbool.h>

#include "profile/view.h"

/* STACK outermost first, as shown.  True if its wait is a known pool's: OpenMP, BLAS, torch, arrow,
 * rayon, tokio, gRPC, Python's concurrent.futures/queue workers, … */
bool idle_is_pool_wait(const struct shown_frame *stack, size_t n);
