/* The kernel's counters of the recorded processes and of their machine, beside the samples: why
 * they wait for a CPU, and their use of it.  The worker reads them at the start, at the end, and
 * about once a second, because an ended process has none; never while a thread is held, and for at
 * most a part in 150 of a CPU. */
#pragma once

#include "worker/target_process.h"

struct process_counters;

/* The first look at the N PROCESSES, which are borrowed; P is their profile. */
struct process_counters *process_counters_new(struct profile *p,
                                              struct target_process *const *processes, size_t n);
/* The first look at another one.  It is borrowed. */
void process_counters_add(struct process_counters *e, struct target_process *process);
/* The process of this NUMBER has ended: no later look takes it.  E may be NULL. */
void process_counters_end(struct process_counters *e, size_t number);
/* Looks again if it is time; cheap when called often.  E may be NULL. */
void process_counters_look(struct process_counters *e);
/* Around a pause: what was counted in between is left out, but of memory limits and swap.  The
 * busiest neighbour is that since then.  E may be NULL. */
void process_counters_pause(struct process_counters *e);
void process_counters_resume(struct process_counters *e);
/* Looks again, unless it is paused, and brings the profile up to now.  E may be NULL. */
void process_counters_report(struct process_counters *e);
struct process_counters *process_counters_free(struct process_counters *e); /* returns NULL */
