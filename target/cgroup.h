/* The CPU quota of a process's control group: how long the kernel kept the group off its CPUs. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct throttled {
    uint64_t periods; /* periods that used up the quota */
    uint64_t ns;      /* time for which the group then waited, summed over CPUs */
    uint64_t elapsed; /* periods in all */
};

/* Of our own group and those above it, as far as they can be seen, since they were made.  Version 2
 * of cgroups, and 1 where "cpu" is one of its controllers.  Zeros: no quota, or no cgroup file
 * system.
 * Source: Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst. */
struct throttled cgroup_throttled(void);
/* How many CPUs' time the tightest of these groups may use; 0: any. */
double cgroup_cpus(void);

/* The parts of it that read texts; these may lack their last bytes. */

/* The text of a cpu.stat.  Zeros: it says nothing of throttling. */
struct throttled cgroup_parse_stat(const char *text, size_t len);
/* "20000 100000", the text of a cpu.max, or the two files of version 1 with a space between them,
 * in microseconds: 0.2 CPUs; 0: "max", -1, or not such a text. */
double cgroup_parse_max(const char *text, size_t len);
/* Where the directory of a process's group is. */
struct cgroup_place {
    char directory[PATH_MAX];
    size_t top;  /* the length of its mount point: groups above that are not seen */
    int version; /* 1 or 2 */
    bool exact;  /* false: the group is hidden, and DIRECTORY is the mount point */
    bool part;   /* the mount shows a part of the groups only */
};
/* MOUNTINFO is /proc/PID/mountinfo, CGROUP /proc/PID/cgroup, CONTROLLER "cpu" or "memory".  Returns
 * 0, or -ENOENT: no group with that controller; -ENAMETOOLONG. */
int cgroup_find(const char *mountinfo, const char *cgroup, const char *controller,
                struct cgroup_place *ret);
/* Goes on to the group above it; false: there is none that is seen. */
bool cgroup_go_up(struct cgroup_place *p);

enum { CGROUP_FILE_BYTES = 4096 };
/* Appends what there is of DIRECTORY/NAME to BUF, which holds LEN bytes; returns how many it holds
 * then. */
size_t cgroup_read_file(const char *directory, const char *name, char buf[CGROUP_FILE_BYTES],
                        size_t len);
/* Reads the counters in a group's DIRECTORY.  False: it has no cpu.stat, and RET is zeros. */
bool cgroup_read_throttled(const char *directory, struct throttled *ret);
/* How many CPUs' time the group may use; 0: any. */
double cgroup_read_cpus(const char *directory);
/* For how long the group was throttled, whichever group's quota it was, its own or one above it;
 * −1: the kernel does not tell.  Source: Linux kernel/sched/core.c cpu_cfs_local_stat_show(), from
 * 6.7 on. */
int64_t cgroup_read_local_ns(const char *directory);
