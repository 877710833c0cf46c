/* The CPU quota of a process's control group: for how long the kernel kept the group off its CPUs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct throttled {
    uint64_t periods; /* in which the quota was used up */
    uint64_t ns;      /* that the group then waited, summed over CPUs */
};

/* Of our own group and those above it, as far as they can be seen, since they were made.  Version 2 of
 * cgroups, and 1 where "cpu" is one of its controllers.  Zeros: no quota, or no cgroup file system.
 * Source: Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst. */
struct throttled cgroup_throttled(void);
/* How many CPUs' time the tightest of these groups may use; 0: any. */
double cgroup_cpus(void);

/* The parts of it that read texts; these may lack their last bytes. */

/* The text of a cpu.stat.  Zeros: it says nothing of throttling. */
struct throttled cgroup_parse_stat(const char *text, size_t len);
/* "20000 100000", the text of a cpu.max, or the two files of version 1 with a space between them, in
 * microseconds: 0.2 CPUs; 0: "max", -1, or not such a text. */
double cgroup_parse_max(const char *text, size_t len);
/* Where a group's directory is: MOUNTINFO is /proc/self/mountinfo, CGROUP /proc/self/cgroup.  Fills
 * RET[RET_SIZE] with the directory, and *RET_TOP with the length of its mount point: groups above that are not
 * seen.  Returns 0, or -ENOENT: no group with a CPU controller; -ENAMETOOLONG. */
int cgroup_directory(const char *mountinfo, const char *cgroup, char *ret, size_t ret_size,
                     size_t *ret_top);
