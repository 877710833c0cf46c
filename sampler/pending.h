/* Threads that were asked to stop at an earlier tick and have not stopped yet.
 *
 * Such a thread has not left the kernel since: it waits for a CPU, for a page, or in a call that no
 * stop ends.  When it stops its stack is that of all these ticks.  Private to sampler/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sampler;
struct thread;

/* A tick finds T still pending. */
void pending_visit(struct sampler *s, struct thread *t, int64_t now_ns);
/* Reads where T is without its stop, and emits that for the time since the request.  False: T waits
 * for a CPU, or has just stopped. */
bool pending_read(struct sampler *s, struct thread *t);
/* Looks for threads that stopped and cannot be let go.  For loops in which no tick runs; no thread
 * may be held on purpose. */
void pending_find_stuck(struct sampler *s);
