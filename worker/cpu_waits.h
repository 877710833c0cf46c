/* Where a thread waits for a CPU, of which the sampler knows only that it waits.
 *
 * Of such waits only some are asked to stop, by chance (sampler/waiters.h), and show their stacks.
 * A wait that was not asked has the stack of the last one of its thread that was: so each of these
 * stands for those that follow it, as many as chance left out.  Python's frames are read of every
 * wait, and must be the same. */
#pragma once

#include "profile/profile.h"

struct built_stack;

enum { CPU_WAITS_KEPT = 4 };

/* A wait of a thread for a CPU, as its stop showed it. */
struct cpu_wait {
    struct spot at, settled; /* as struct built_stack has them */
    uint64_t python;         /* its Python frames, as a hash; 0: none */
    bool plain;              /* no native frame is below those */
};
/* Those of one thread, the last first.  Zero-initialised: none. */
struct cpu_waits {
    struct cpu_wait last[CPU_WAITS_KEPT];
    uint32_t n;
};

/* BUILT is of a wait that a stop has shown. */
void cpu_waits_add(struct cpu_waits *w, const struct built_stack *built);
/* BUILT is of a wait that was not asked: gives it the stack of one that was.  False: none is known,
 * and BUILT says that its native frames were not read. */
bool cpu_waits_complete(const struct cpu_waits *w, struct built_stack *built);
