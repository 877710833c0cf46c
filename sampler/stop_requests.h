/* Requests to stop threads, and the answers of the threads.  A stop is a request: the thread
 * answers at once, later or never (docs/sampling.md).  Private to sampler/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sampler/tracer.h"

struct sampler;
struct thread;

/* Does an execve hang in T's process, so that none of its threads may be asked to stop now? */
bool stop_requests_wait_for_exec(const struct sampler *s, const struct thread *t);
/* Adds T, of which claim_found() was called at NOW_NS, to those that will be asked to stop. */
void stop_requests_queue(struct sampler *s, struct thread *t, int64_t now_ns);
/* Asks all of them. */
void stop_requests_send(struct sampler *s);
/* Asks them if that is due.  With --freeze it never is, because all are to be held at one time. */
void stop_requests_send_if_due(struct sampler *s);
/* Withdraws the request to T, which is gone or has been read without its stop. */
void stop_requests_forget(struct sampler *s, struct thread *t);
/* Does the present shot hold all threads together (--freeze)? */
bool stop_requests_freeze(const struct sampler *s);
/* --freeze: releases all threads when its time is over.  Returns whether it is. */
bool stop_requests_release_frozen(struct sampler *s);

/* The tracer's handler (tracer.h): async-signal-safe. */
bool stop_requests_stopped(void *sampler, const struct stop *stop);
void stop_requests_released(void *sampler, uint64_t tag, const struct hold *hold);
void stop_requests_gone(void *sampler, uint64_t tag);
