/* The time that a process loses, while it is watched, to the CPU quotas of its cgroup and of the
 * groups above it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cpu_quota;

/* Finds PID's group and reads its counters; the caller frees the result.  Never NULL: a group that
 * cannot be read has no facts. */
struct cpu_quota *cpu_quota_new(pid_t pid);
/* The same from texts, for a group of this machine: MOUNTINFO is /proc/PID/mountinfo, CGROUP
 * /proc/PID/cgroup; ROOT is what its paths begin with here, "" for our own.  WHOLE: the groups are
 * not those of a cgroup namespace. */
struct cpu_quota *cpu_quota_open(const char *mountinfo, const char *cgroup, const char *root,
                                 bool whole);
/* Reads the counters again, and finds PID's group again if PID has moved to another. */
void cpu_quota_look(struct cpu_quota *q, pid_t pid);
/* Reads the counters of the group that it was in last. */
void cpu_quota_read(struct cpu_quota *q);

/* What was counted since the last look or reading is left out. */
void cpu_quota_skip(struct cpu_quota *q, pid_t pid);

struct cpu_quota_facts {
    int version;      /* of cgroups; 0: no group with a CPU controller was found */
    bool hidden;      /* there may be groups above those that can be seen */
    double cpus;      /* the tightest quota; 0: none */
    const char *path; /* the directory of its group, "" for none; valid until the next look */
    uint32_t level;   /* how far above the process's group that is */
    /* Since the first look, of the group that throttled most. */
    uint64_t periods, throttled_periods;
    int64_t throttled_ns;       /* summed over CPUs */
    int64_t throttled_above_ns; /* by groups that cannot be seen; −1: the kernel does not tell */
};
struct cpu_quota_facts cpu_quota_facts(const struct cpu_quota *q);
struct cpu_quota *cpu_quota_free(struct cpu_quota *q); /* returns NULL */
