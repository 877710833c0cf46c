#include "sampler/priority.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6 /* linux/sched.h */
#endif
enum { SLICE_NS = 100 * NS_PER_US /* the kernel takes no shorter one */ };

/* With the shortest slice a waking thread has an early deadline and gets its CPU soon.  A tick that
 * waits for a CPU waits for the target's threads to sleep, and then finds them asleep: a bias, with
 * figures in docs/sampling.md.  Since Linux 6.12 (Documentation/scheduler/sched-eevdf.rst); older
 * kernels ignore the slice.  A policy that the user chose (chrt -f 20 wallspy) stays. */
void priority_set(void)
{
    struct { /* sched_setattr(2): not in glibc 2.36 */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } attr = {.size = sizeof attr, .policy = SCHED_OTHER, .runtime_ns = SLICE_NS};
    static_assert(sizeof attr == 48, "SCHED_ATTR_SIZE_VER0");
    if (sched_getscheduler(0) != SCHED_OTHER)
        return;
    errno = 0;
    attr.nice = getpriority(PRIO_PROCESS, 0);
    if (errno == 0)
        (void)syscall(SYS_sched_setattr, 0, &attr, 0);
}

static bool is_real_time(pid_t tid)
{
    int policy = sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK;
    return policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE;
}

/* Has the sampler one CPU only, which TID may have, too? */
static bool shares_only_cpu(pid_t tid)
{
    cpu_set_t mine;
    cpu_set_t its;
    cpu_set_t both;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0 || CPU_COUNT(&mine) != 1 ||
        sched_getaffinity(tid, sizeof its, &its) != 0)
        return false;
    CPU_AND(&both, &mine, &its);
    return CPU_COUNT(&both) == 1;
}

void priority_check(pid_t tid)
{
    if (is_real_time(tid) && !is_real_time(0) && shares_only_cpu(tid))
        log_warn("real-time",
                 "thread %d has a real-time priority and wallspy's only CPU: while it runs wallspy "
                 "sees nothing, and cannot let go what it holds.  Give wallspy another CPU "
                 "(taskset) or a higher priority (chrt -f 99 wallspy ...).",
                 tid);
}
