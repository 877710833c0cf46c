/* Does a thread that can run have a CPU, or does it wait for one?
 *
 * The kernel counts a run when a thread is switched in and a switch when it is switched out, so its
 * run count less its switches is one more on a CPU than off it.  The difference off the CPU is the
 * thread's base: mostly 0, but for some threads the kernel sometimes misses a run.  The target
 * runs.  Private to sampler/. */
#pragma once

#include "sampler/snapshot.h"

struct sampler;
struct thread;

/* Does T run, or wait for a CPU?  THREAD_RUNNING_OR_RUNNABLE: unknown. */
enum thread_state on_cpu_state(struct sampler *s, struct thread *t);
/* T is off the CPU: learns its base, once. */
void on_cpu_learn(struct sampler *s, struct thread *t);
