/* Threads that were asked to stop at an earlier tick and have not stopped yet.  Since then they have not left the kernel: they
 * wait for a CPU, for a page, or in a call that no stop ends, and show the stack of these ticks when they stop.
 * Private to sampler/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sampler;
struct task;

/* A tick finds T still pending. */
void pending_visit(struct sampler *s, struct task *t, int64_t now_ns);
/* Reads without its stop where T has been since it was asked, as far as it is off the CPU.  False: it waits for a CPU, or
 * has just stopped. */
bool pending_read(struct sampler *s, struct task *t);
/* Looks for threads that stopped and cannot be let go, where no tick will soon.  None may be held on purpose. */
void pending_find_stuck(struct sampler *s);
