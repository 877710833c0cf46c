/* Children of the recorded processes that are not sampled: which, and the command that takes them
 * too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/duty_cycle.h"
#include "profile/profile.h"

struct unsampled {
    const pid_t *pids; /* of the recorded processes; borrowed */
    size_t n;
    struct duty_cycle looking; /* private, as the rest */
    int64_t looked_ns;         /* 0: not yet */
    int64_t *cpu_ns;           /* of each process, at the last look; owned */
    size_t printed;            /* how many children the user has read of */
};

/* PIDS is borrowed. */
void unsampled_begin(struct unsampled *u, const pid_t *pids, size_t n);
/* During the recording: names, once, the children of a process that only waits.  To be called
 * often: it looks now and then, for a hundredth of the time. */
void unsampled_look(struct unsampled *u);
/* At the end: names all children that are not sampled, unless the user has read of as many. */
void unsampled_report(struct unsampled *u, const struct profile *p);
void unsampled_release(struct unsampled *u);
