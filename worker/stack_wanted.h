/* How much of a thread's stack its next capture is to read, from the part that this one's unwinding
 * needed.  Pure.
 *
 * In one piece, as a rule.  But a frame may be so large (OpenBLAS keeps half a megabyte in each of
 * those that split a matrix) that its copy is most of the hold.  Then the capture reads the part at
 * sp, and the parts above such frames, where a frame keeps its return address and its caller's
 * registers. */
#pragma once

#include "sampler/feedback.h"
#include "unwinder/unwinder.h"

/* THREAD_NO's capture S gave NATIVE. */
void stack_wanted_send(struct feedback *f, uint32_t thread_no, const struct native_stack *native,
                       const struct snapshot *s);
