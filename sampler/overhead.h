/* What sampling costs the target, and the rate that keeps it in bounds (docs/sampling.md).  Private
 * to sampler/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "target/proc.h"

struct hold; /* sampler/tracer.h */
struct sampler;
struct thread;

/* Did wallspy hear of HOLD, which it has just ended, when it began?  Asked of threads that waited
 * for a CPU: they stop long after the request.  Async-signal-safe. */
bool overhead_heard_at_once(struct sampler *s, const struct hold *hold);
/* T was just let go, and had the counts NOW at NOW_NS.  Returns how long HOLD was, from the stop
 * itself where the counts tell.  AT_ONCE: as overhead_heard_at_once() says.  Async-signal-safe. */
uint32_t overhead_held_ns(struct thread *t, const struct schedstat *now, int64_t now_ns,
                          const struct hold *hold, bool at_once);
/* T was held for HELD_NS.  Async-signal-safe. */
void overhead_add(struct thread *t, uint32_t held_ns);
/* After a tick: makes the interval longer or shorter, so that holds keep to --max-overhead. */
void overhead_keep(struct sampler *s);
/* In long ticks, too: gives a better nice up where the sampler takes too much CPU time at it. */
void overhead_keep_priority(struct sampler *s);
