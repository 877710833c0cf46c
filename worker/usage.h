/* A thread's faults, switches and CPU time, by the kernel's counters.  An ended thread has no
 * counters, so they are read about once a second, for at most a thousandth of a CPU. */
#pragma once

#include <sys/types.h>

#include "base/duty_cycle.h"
#include "profile/profile.h"

struct usage_watch { /* of one thread */
    uint64_t start_ticks;
    int64_t first_ns, last_ns; /* 0: the counters could not be read */
    struct profile_usage first, last;
    struct profile_usage before; /* the use of the profile's thread under another number */
};

/* The first look at thread TID of PID; BEFORE is its use so far. */
void usage_begin(struct usage_watch *w, pid_t pid, pid_t tid, const struct profile_usage *before);
/* Looks again; the numbers of an ended thread stay.  Was it there? */
bool usage_look(struct usage_watch *w, pid_t pid, pid_t tid);
/* What came since the last look is left out. */
void usage_skip(struct usage_watch *w, pid_t pid, pid_t tid);
/* The thread has ended, and had taken FAULTS when the sampler let it go last; 0: unknown.  They may
 * be more than those of the last look; whether any was major nobody knows. */
void usage_raise_faults(struct usage_watch *w, uint64_t faults);
/* Its whole use up to the last look. */
struct profile_usage usage_so_far(const struct usage_watch *w);

struct thread_timeline;
/* Looks at TIMELINE's thread: the switches for wallspy's stops until now are of its usage, too. */
void usage_look_at(struct thread_timeline *timeline, struct profile *p);

struct usage_round { /* zero-initialise */
    struct duty_cycle looking;
    size_t next; /* timeline to look at */
};
/* Looks at some of the N threads of TIMELINES if it is time; cheap when called often. */
void usage_look_around(struct usage_round *u, struct profile *p, struct thread_timeline *timelines,
                       size_t n);
