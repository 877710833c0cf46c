/* How the kernel may schedule a process's threads: which CPUs, which class, which nice value. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct scheduling {
    uint32_t cpus_main;      /* CPUs that its main thread may use */
    uint32_t cpus_any;       /* CPUs that at least one of its threads may use */
    uint32_t threads_pinned; /* threads whose CPUs are not the main thread's */
    int nice, policy;        /* of the main thread; SCHED_… */
};
/* Looks at the first 256 threads of PID.  Returns 0 or -ESRCH.  Source: sched_getaffinity(2),
 * getpriority(2). */
int scheduling_read(pid_t pid, struct scheduling *ret);
