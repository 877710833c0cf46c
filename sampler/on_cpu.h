/* Does a thread that can run have a CPU, or does it wait for one?
 *
 * The kernel counts a run when a thread is switched in and a switch when it is switched out, so its
 * run count less its switches is one more on a CPU than off it.  The difference off the CPU is the
 * thread's base: mostly 0, and less for some threads, because the kernel sometimes misses a run.
 *
 * Where no CPU is free the sampler itself takes one from a thread when it wakes.  That thread ran
 * until then: it was switched out at the moment when the sampler was switched in.  The target runs.
 * Private to sampler/. */
#pragma once

#include "capture/snapshot.h"

struct sampler;
struct thread;

/* The sampler has just been woken, and has read nothing yet: notes when that was. */
void on_cpu_woke(struct sampler *s);
/* Does T run, or wait for a CPU?  t->displaced: it ran until the sampler took its CPU.
 * THREAD_RUNNING_OR_RUNNABLE: unknown.  t->sched has the counts of that moment. */
enum thread_state on_cpu_state(struct sampler *s, struct thread *t);
/* T is off the CPU: learns its base, once. */
void on_cpu_learn(struct sampler *s, struct thread *t);
/* T was taken to wait for a CPU, and its run time has grown in the same run: its base is wrong. */
void on_cpu_correct(struct thread *t);
