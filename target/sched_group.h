/* Do two processes share the CPUs thread by thread?  The scheduler first shares them among groups:
 * cgroups with the CPU controller, and below none of these the sessions (autogroups).  nice weighs
 * the threads of one group against each other, and no others.
 * Source: Linux kernel/sched/autogroup.c, sched(7), Documentation/admin-guide/cgroup-v2.rst. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum sched_apart {
    SCHED_TOGETHER, /* or it is not known */
    SCHED_OTHER_CGROUP,
    SCHED_OTHER_SESSION,
};
/* PID and the calling process. */
enum sched_apart sched_group_compare(pid_t pid);
/* The same from texts: MOUNTINFO is the caller's; each process's are of /proc/PID/cgroup, and of
 * /proc/PID/autogroup, "" where sessions are not grouped. */
struct sched_group_texts {
    const char *cgroup, *autogroup;
};
enum sched_apart sched_group_judge(const char *mountinfo, const struct sched_group_texts *a,
                                   const struct sched_group_texts *b);
