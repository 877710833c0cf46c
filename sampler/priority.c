#include "sampler/priority.h"

#include <assert.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/minmax.h"

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6 /* linux/sched.h */
#endif
enum {
    SLICE_NS = 300 * NS_PER_US,
    BEST_NICE = -20,
    RESET_ON_FORK = 1, /* SCHED_FLAG_RESET_ON_FORK of linux/sched.h */
    SECOND_NS = NS_PER_S,
    FIRST_PAUSE_NS = NS_PER_S,
};
static const int64_t most_pause_ns = 64 * (int64_t)NS_PER_S;
/* Of a CPU in a second at the better nice: a part of one, or of all if that is more. */
static const double most_of_one = 0.1, most_of_all = 0.01;

/* With a short slice a waking thread has an early deadline and gets its CPU soon.  Since Linux
 * 6.12 (Documentation/scheduler/sched-eevdf.rst); older kernels ignore the slice.
 * A tick must end within it (docs/sampling.md, "Being in time"). */
static bool set_nice(int nice, uint64_t flags)
{
    struct { /* sched_setattr(2): not in glibc 2.36 */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } attr = {.size = sizeof attr,
              .policy = SCHED_OTHER,
              .flags = flags,
              .nice = nice,
              .runtime_ns = SLICE_NS};
    static_assert(sizeof attr == 48, "SCHED_ATTR_SIZE_VER0");
    return syscall(SYS_sched_setattr, 0, &attr, 0) == 0;
}

static void note_priority(struct priority *p, enum sampler_priority kind, int nice)
{
    atomic_store_explicit(&p->kind, kind, memory_order_relaxed);
    atomic_store_explicit(&p->nice, nice, memory_order_relaxed);
}

/* Those that it forks begin with nice 0. */
static bool raise_to(struct priority *p, int nice)
{
    if (nice >= p->usual || !set_nice(nice, RESET_ON_FORK))
        return false;
    p->best = nice;
    note_priority(p, PRIORITY_RAISED, nice);
    return true;
}

/* A tick that waits for a CPU waits for the target's threads to sleep, and then finds them asleep:
 * a bias, with figures in docs/sampling.md.  And threads that stopped wait for it.  A policy or a
 * nice that the user chose stays. */
void priority_set(struct priority *p, int cpus)
{
    struct rlimit limit = {0};
    double of_all = most_of_all * cpus;
    *p = (struct priority){.pause_ns = FIRST_PAUSE_NS};
    p->most_ns = (int64_t)((of_all > most_of_one ? of_all : most_of_one) * SECOND_NS);
    p->usual = p->best = getpriority(PRIO_PROCESS, 0);
    note_priority(p, PRIORITY_USERS, p->usual);
    if ((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_OTHER)
        return;
    if (p->usual != 0) {
        (void)set_nice(p->usual, 0);
        return;
    }
    note_priority(p, PRIORITY_USUAL, p->usual);
    (void)getrlimit(RLIMIT_NICE, &limit); /* 0: 20 … 40: −20 */
    int granted = 20 - (int)min_u64(limit.rlim_cur, 40);
    if (!raise_to(p, BEST_NICE) && !raise_to(p, granted))
        (void)set_nice(p->usual, 0);
}

static void begin_second(struct priority *p, int64_t now_ns, int64_t cpu_ns)
{
    p->since_ns = now_ns;
    p->cpu_ns = cpu_ns;
}

/* The first ticks over thousands of threads take a lot, later ones may not: so it is tried again,
 * ever more seldom. */
bool priority_keep(struct priority *p, int64_t now_ns, int64_t cpu_ns)
{
    int kind = atomic_load_explicit(&p->kind, memory_order_relaxed);
    if (kind == PRIORITY_GIVEN_UP && now_ns - p->since_ns >= p->pause_ns) {
        p->pause_ns = p->pause_ns < most_pause_ns ? 2 * p->pause_ns : most_pause_ns;
        begin_second(p, now_ns, cpu_ns);
        (void)raise_to(p, p->best);
    }
    if (kind != PRIORITY_RAISED)
        return false;
    if (!p->since_ns || (now_ns - p->since_ns >= SECOND_NS && cpu_ns - p->cpu_ns <= p->most_ns))
        begin_second(p, now_ns, cpu_ns);
    if (cpu_ns - p->cpu_ns <= p->most_ns || !set_nice(p->usual, RESET_ON_FORK))
        return false;
    note_priority(p, PRIORITY_GIVEN_UP, p->usual);
    begin_second(p, now_ns, cpu_ns);
    return true;
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
                 "sees nothing, and cannot release a held thread.  Give wallspy another CPU "
                 "(taskset) or a higher priority (chrt -f 99 wallspy ...).",
                 tid);
}
