#include "summary/kernel_work.h"

#include "base/clock.h"
#include "base/share.h"

/* A fault of a page of 4 KiB takes the kernel half a microsecond, of a cold machine's three.  Where
 * a thread's system time is more a fault, most of it is other work. */
enum { MOST_FAULT_NS = 3000 };
static const double least_system = 0.1; /* of a thread's CPU time: less is no cause */
static const double numa_share = 0.005; /* of a CPU, for faults of NUMA balancing */
static const double mostly = 0.5;       /* of a group's faults that may be such */

static double per_second(const struct profile *p, uint64_t n)
{
    return profile_end_ns(p) > 0 ? (double)n * NS_PER_S / (double)profile_end_ns(p) : 0;
}

double numa_faults_per_s(const struct profile *p)
{
    const struct profile_machine *m = &profile_see_host(p)->machine;
    return m->numa_known && m->numa_balancing ? per_second(p, m->numa_faults) : 0;
}

bool numa_explains(const struct profile *p, uint64_t minor_faults)
{
    double faults = per_second(p, minor_faults);
    double numa = numa_faults_per_s(p);
    return numa * MOST_FAULT_NS / NS_PER_S >= numa_share && numa >= mostly * faults &&
           faults >= mostly * numa;
}

/* Of all threads that are like THREAD. */
static uint64_t faults_of_group(const struct groups *g, const struct profile_thread *thread)
{
    const struct thread_group *group = groups_of(g, thread);
    uint64_t n = 0;
    for (size_t i = 0; group && i < group->n; i++)
        n += group->threads[i]->thread->usage.minor_faults;
    return n;
}

struct kernel_work kernel_work_of(const struct groups *g, const struct profile_thread *thread)
{
    const struct profile_usage *u = &thread->usage;
    struct kernel_work work = {.faults = CAUSE_FAULTS};
    if (!u->minor_faults || share_of(u->system_ns, u->system_ns + u->user_ns) < least_system)
        return work;
    double each_ns = (double)u->system_ns / (double)u->minor_faults;
    work.fault_ns = each_ns < MOST_FAULT_NS ? each_ns : MOST_FAULT_NS;
    if (numa_explains(g->p, faults_of_group(g, thread)))
        work.faults = CAUSE_NUMA;
    return work;
}

double kernel_work_ns(const struct kernel_work *work, const struct run *run, int64_t ns)
{
    return (double)run_weight(run, WEIGHT_FAULTS) * work->fault_ns *
           share_of(ns, run->weights.wall_ns);
}

int64_t kernel_faults_ns(const struct groups *g, const struct thread_group *group)
{
    double ns = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        ns += (double)t->usage.minor_faults * kernel_work_of(g, t).fault_ns;
    }
    return (int64_t)ns;
}
