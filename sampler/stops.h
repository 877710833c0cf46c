/* Which threads are asked to stop, and what comes of it: a stop is a request, answered at once, later, or never
 * (docs/sampling.md).  Private to sampler/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sampler/tracer.h"

struct sampler;
struct task;

/* Is no thread of T's process asked to stop for now, since an execve in it hangs? */
bool stops_wait_for_execve(const struct sampler *s, const struct task *t);
/* Asks T, whose state is requested_state, to stop; with --freeze not yet. */
void stops_ask(struct sampler *s, struct task *t, int64_t now_ns);
/* --freeze: asks those now, all after all were looked at. */
void stops_ask_queued(struct sampler *s);
/* --freeze: lets all threads go when its time is over.  True: it is. */
bool stops_thaw(struct sampler *s);

/* The tracer's handler (tracer.h): async-signal-safe. */
bool stops_stopped(void *sampler, const struct stop *stop);
void stops_released(void *sampler, uint64_t tag, uint32_t held_ns);
void stops_gone(void *sampler, uint64_t tag);
