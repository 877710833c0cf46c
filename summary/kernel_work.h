/* The kernel's work for page faults, as time: counters say how many there were and where, the
 * kernel's clock how long it worked for the thread. */
#pragma once

#include "summary/cause.h"
#include "summary/groups.h"

struct kernel_work {
    /* Of one minor fault of the thread's, on average; 0: they are few, or unknown. */
    double fault_ns;
    enum cause faults; /* whose they are: CAUSE_FAULTS, CAUSE_NUMA */
};
struct kernel_work kernel_work_of(const struct groups *g, const struct profile_thread *thread);
/* Such work of NS, a part of RUN's time.  Faults are counted around some stops only: the sum over
 * many runs says how much it is, one run's may be more than its time. */
double kernel_work_ns(const struct kernel_work *work, const struct run *run, int64_t ns);
/* How long the kernel worked for the minor page faults of GROUP's threads. */
int64_t kernel_faults_ns(const struct groups *g, const struct thread_group *group);
/* Are MINOR_FAULTS, of one group's threads in the whole recording, those of the kernel's automatic
 * NUMA balancing?  It counts them for the machine alone: equal numbers say that they are. */
bool numa_explains(const struct profile *p, uint64_t minor_faults);
double numa_faults_per_s(const struct profile *p); /* of the machine; 0: none, or unknown */
