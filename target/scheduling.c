#include "target/scheduling.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "target/proc.h"

/* CPU_SETSIZE is too small for some machines; the kernel's own limit is 8192. */
enum { CPU_WORDS = 8192 / 64, CPU_BYTES = CPU_WORDS * 8, MAX_THREADS = 256 };

struct cpus {
    uint64_t words[CPU_WORDS];
};

struct look {
    struct cpus main, any;
    uint32_t threads, pinned;
};

static int read_cpus(pid_t tid, struct cpus *ret)
{
    struct cpus cpus = {0};
    if (sched_getaffinity(tid, CPU_BYTES, (cpu_set_t *)cpus.words) != 0)
        return -errno;
    *ret = cpus;
    return 0;
}

static uint32_t count(const struct cpus *cpus)
{
    uint32_t n = 0;
    for (size_t i = 0; i < CPU_WORDS; i++)
        n += (uint32_t)__builtin_popcountll(cpus->words[i]);
    return n;
}

static void look_at_thread(void *ctx, pid_t tid)
{
    struct look *look = ctx;
    struct cpus cpus = {0};
    if (++look->threads > MAX_THREADS || read_cpus(tid, &cpus) < 0)
        return;
    look->pinned += memcmp(&cpus, &look->main, sizeof cpus) != 0;
    for (size_t i = 0; i < CPU_WORDS; i++)
        look->any.words[i] |= cpus.words[i];
}

int scheduling_read(pid_t pid, struct scheduling *ret)
{
    struct look look = {0};
    int policy = sched_getscheduler(pid);
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, (id_t)pid);
    if (errno || policy < 0 || read_cpus(pid, &look.main) < 0)
        return -ESRCH;
    look.any = look.main;
    (void)proc_each_task(pid, look_at_thread, &look);
    *ret = (struct scheduling){.cpus_main = count(&look.main),
                               .cpus_any = count(&look.any),
                               .threads_pinned = look.pinned,
                               .nice = nice,
                               .policy = policy & ~SCHED_RESET_ON_FORK};
    return 0;
}
