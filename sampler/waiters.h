/* Threads that wait for a CPU: which of them are asked to stop.
 *
 * Such a thread stops only when it gets a CPU, and then waits for a sampler that has none itself.
 * Where many wait, stops of all of them cost the target more than all else.  So only some are
 * asked, by chance.  Of the others the counts prove that they wait on; where they wait natively the
 * worker takes from those that were asked (worker/cpu_waits.h).  Chance does not look at what a
 * thread does, so that is right in the sum.
 *
 * The counts tell which thread waits only where /proc/PID/task/TID/sched shows the one that the
 * sampler displaced; elsewhere all are asked.  The target runs.  Private to sampler/. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sampler;
struct thread;

struct waiters {
    uint32_t at_once;       /* at most so many are asked and have not stopped yet: one a CPU */
    double a_tick;          /* so many are asked at a tick, in the mean */
    _Atomic uint32_t asked; /* and have not stopped yet */
    uint32_t found, found_before; /* new waits: in this tick; in the last */
};

void waiters_init(struct waiters *w);
/* A tick begins. */
void waiters_begin_tick(struct waiters *w);
/* T was found to wait for a CPU, in a wait that no tick has seen yet.  Is it left alone?
 * t->wait_share is the probability that it is not. */
bool waiters_leave(struct sampler *s, struct thread *t);
/* T, whose counts are those of its last sample, was left alone in its wait.  Does it wait still? */
bool waiters_still(struct sampler *s, struct thread *t);
/* T's counts have changed: corrects what made a running thread look like a waiting one. */
void waiters_moved(struct thread *t);
/* T, which waits for a CPU, is asked to stop; or: it is no longer.  The latter is
 * async-signal-safe, and does nothing for others. */
void waiters_asked(struct sampler *s, struct thread *t);
void waiters_stopped(struct sampler *s, struct thread *t);
