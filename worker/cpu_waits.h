/* Where a thread waits for a CPU, of which the sampler knows only that it waits.
 *
 * Of such waits only some are asked to stop, by chance (sampler/waiters.h), and show their stacks.
 * Of a wait that was asked with probability p each nanosecond stands for 1/p: its own, and 1/p − 1
 * of waits that were not asked.  So each stack gets a credit of that much when its wait ends, and
 * a wait that was not asked has the stack of its thread with the largest credit for all that its
 * asked waits stand for, and uses it up.  Where chance gave too little credit, or too much, all
 * stacks have the same part of the rest.  (With the last stack that was asked, short waits would
 * count as much as long ones; with the largest credit alone, what is missing would be shared
 * evenly.)  Python's frames are read of every wait, and must be the same.  Only where no native
 * frame is below them the innermost may be elsewhere in its function. */
#pragma once

#include "profile/profile.h"

struct built_stack;

enum { CPU_WAITS_KEPT = 8 };

/* Waits of a thread for a CPU at one place, as a stop showed it. */
struct cpu_wait {
    struct spot at, settled; /* as struct built_stack has them */
    uint64_t python, outer;  /* its Python frames: hashes as struct built_stack has them; 0: none */
    bool plain;              /* no native frame is below those */
    double credit_ns;
    double weight_ns; /* what its asked waits stand for, older ones for less */
};
/* Those of one thread.  Zero-initialised: none. */
struct cpu_waits {
    struct cpu_wait kept[CPU_WAITS_KEPT];
    uint32_t n;
    struct {
        uint32_t kept; /* the present wait is KEPT[this − 1]; 0: none */
        double credit; /* by which its time counts there */
    } present;
};

/* A sample that is no wait for a CPU begins. */
void cpu_waits_none(struct cpu_waits *w);
/* BUILT is of a wait that a stop has shown, and that was asked with probability SHARE. */
void cpu_waits_add(struct cpu_waits *w, const struct built_stack *built, double share);
/* BUILT is of a wait that was not asked: gives it the stack of one that was.  False: none is known,
 * and BUILT says that its native frames were not read. */
bool cpu_waits_complete(struct cpu_waits *w, struct profile *p, struct built_stack *built);
/* The present wait took NS so far, or NS more. */
void cpu_waits_took(struct cpu_waits *w, int64_t ns);
