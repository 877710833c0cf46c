/* What a recording keeps of the machine that it was made on, beside its CPUs' time: how it is set
 * up, and how short of memory and CPUs it was. */
#pragma once

#include "profile/profile.h"
#include "target/host_state.h"

/* From FIRST to LAST, and its set-up of now; texts go into P. */
struct profile_machine machine_environment(struct profile *p, const struct host_state *first,
                                           const struct host_state *last);
/* The same, read already. */
struct profile_machine machine_environment_of(struct profile *p, const struct host_setup *setup,
                                              const struct host_state *first,
                                              const struct host_state *last);
