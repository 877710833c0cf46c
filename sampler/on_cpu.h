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

#include <stdbool.h>
#include <stdint.h>

#include "capture/snapshot.h"

struct sampler;
struct thread;

/* A look at how often a thread was switched out. */
struct switches {
    uint64_t n;
    uint64_t since_ns; /* since when it has been off the CPU, if it is; 0: unknown */
    uint64_t runs;     /* its run count just before */
    int64_t tick_ns;
    bool known;
};

/* The sampler has just been woken, and has read nothing yet: notes when that was. */
void on_cpu_woke(struct sampler *s);
/* T, which has run since its last sample, waits for a CPU by all appearance, or runs: looks at its
 * switches before its call is read.  A call that is read later, and shows it awake, proves that it
 * was not asleep at the look, either. */
void on_cpu_look(struct sampler *s, struct thread *t);
/* Has on_cpu_look() looked at T in this tick, has T begun no other run since, and has
 * on_cpu_state() not used the look yet? */
bool on_cpu_looked(const struct sampler *s, const struct thread *t);
/* Does T run, or wait for a CPU?  t->displaced: it ran until the sampler took its CPU.
 * THREAD_RUNNING_OR_RUNNABLE: unknown.  t->sched has the counts of that moment. */
enum thread_state on_cpu_state(struct sampler *s, struct thread *t);
/* T is off the CPU: learns its base, once. */
void on_cpu_learn(struct sampler *s, struct thread *t);
/* T was taken to wait for a CPU, and its run time has grown in the same run: its base is wrong. */
void on_cpu_correct(struct thread *t);
