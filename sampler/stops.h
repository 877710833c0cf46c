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
/* Adds T, which was looked at at NOW and whose state is requested_state, to those that will be asked to stop. */
void stops_queue(struct sampler *s, struct task *t, int64_t now_ns);
/* Asks all of them. */
void stops_ask(struct sampler *s);
/* The same as soon as it should be done; not with --freeze, which holds all together. */
void stops_ask_in_time(struct sampler *s);
/* --freeze: lets all threads go when its time is over.  True: it is. */
bool stops_thaw(struct sampler *s);

/* The tracer's handler (tracer.h): async-signal-safe. */
bool stops_stopped(void *sampler, const struct stop *stop);
void stops_released(void *sampler, uint64_t tag, uint32_t held_ns);
void stops_gone(void *sampler, uint64_t tag);
