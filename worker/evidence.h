/* The kernel's counters of the recorded processes and of their machine, beside the samples: why
 * they wait for a CPU, and their use of it.  The worker reads them at the start, at the end, and
 * about once a second, because an ended process has none; never while a thread is held, and for at
 * most a part in 150 of a CPU. */
#pragma once

#include "worker/target_process.h"

struct evidence;

/* The first look at the N PROCESSES, which are borrowed; P is their profile. */
struct evidence *evidence_new(struct profile *p, struct target_process *const *processes, size_t n);
/* The first look at another one.  It is borrowed. */
void evidence_add(struct evidence *e, struct target_process *process);
/* The process of this NUMBER has ended: no later look takes it.  E may be NULL. */
void evidence_end(struct evidence *e, size_t number);
/* Looks again if it is time; cheap when called often.  E may be NULL. */
void evidence_look(struct evidence *e);
/* Around a pause: what was counted in between is left out, but of memory limits and swap.  The
 * busiest neighbour and children's CPU time are those since then.  E may be NULL. */
void evidence_pause(struct evidence *e);
void evidence_resume(struct evidence *e);
/* Looks again, and brings the profile up to now.  E may be NULL. */
void evidence_report(struct evidence *e);
struct evidence *evidence_free(struct evidence *e); /* returns NULL */
