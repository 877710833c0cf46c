/* The facts about a recorded process and its machine beside its stacks: why it may have had to
 * wait. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/ids.h"

/* The limits that keep a process off the CPUs.  A number "in this recording" is the difference
 * between the first look and the last one at which the process was there. */
struct profile_cpu_limits {
    bool known; /* false: nothing of this was read */
    /* The CPU quota of its cgroup and of those above it, as far as they can be seen. */
    int cgroup_version;   /* 1 or 2; 0: no group with a CPU controller was found */
    double quota_cpus;    /* of the tightest group; 0: none */
    string_id quota_path; /* the directory of its group */
    uint32_t quota_level; /* 0: the process's own group, 1: the one above it, … */
    bool groups_hidden;   /* there may be groups above those that can be seen */
    /* Of the group that throttled the most in this recording.  A group's time is a sum over CPUs:
     * it may pass the wall time.  A stretch counts when it ends. */
    uint64_t periods, throttled_periods;
    int64_t throttled_ns;
    int64_t throttled_above_ns; /* by groups that cannot be seen; −1: the kernel does not tell */
    uint32_t cpus_main;         /* CPUs that the main thread may use; 0: unknown */
    uint32_t cpus_any;          /* CPUs that at least one of its threads may use */
    uint32_t threads_pinned;    /* threads whose CPUs are not the main thread's */
    int nice, policy;           /* of the main thread; POLICY: SCHED_… */
};

/* The memory that its cgroup, or one above it, may use, with the pages of files that it reads. */
struct profile_memory_limit {
    uint64_t limit_bytes; /* 0: none is known */
    uint64_t used_bytes;  /* at the last look */
    uint64_t reached;     /* how often the group ran against it in this recording */
    string_id path;       /* the group's directory */
};

/* Connections that were not answered at once, in its network namespace, in this recording. */
struct profile_net {
    bool known;
    uint64_t listen_overflows; /* dropped, because a listening socket's queue was full */
    uint64_t syn_repeats;      /* requests that were sent once more */
};

/* A file system where a process sees it. */
struct profile_mount {
    string_id point, type, source;
    bool served; /* another machine or program answers for it: NFS, FUSE and the like */
};

struct profile_child {
    pid_t pid;
    string_id comm;
    int64_t cpu_ns; /* of it and its living descendants between the looks, at least */
    bool recorded;
    bool came_and_went; /* it began and ended in that time */
};

struct profile_busy_process {
    pid_t pid; /* 0: unknown, or there is none */
    string_id comm;
    int64_t cpu_ns; /* between the looks */
};

/* For how long tasks of the machine had to wait for something between the looks: some of them, or
 * all that were not idle. */
struct profile_pressure {
    bool known;
    int64_t some_ns, full_ns;
};
/* How the machine is set up, and how short of memory and CPUs it was between two looks. */
struct profile_machine {
    bool known;
    string_id governor;                      /* of the CPUs' frequency; none: not told, as below */
    string_id huge_pages, huge_pages_defrag; /* "madvise" */
    uint32_t numa_nodes;                     /* 0: unknown */
    int numa_balancing;                      /* by itself; 0: off, −1: unknown */
    double load_first, load_last;            /* averages of a minute; −1: unknown */
    struct profile_pressure cpu_pressure, memory_pressure;
    bool starts_known, swap_known, numa_known;
    uint64_t starts;              /* of processes and threads */
    uint64_t swap_ins, swap_outs; /* pages */
    uint64_t numa_marked, numa_faults, numa_faults_local, numa_moved;
};

/* The machine's CPUs between two looks; sums over all of them. */
struct profile_host {
    int64_t over_ns; /* between the looks; 0: there were none */
    uint32_t cpus_online;
    int64_t busy_ns;       /* of all programs and the kernel, without interrupts */
    int64_t interrupts_ns; /* as far as the kernel counts them apart */
    int64_t stolen_ns;     /* by the hypervisor */
    int64_t wallspy_ns;    /* CPU time of wallspy itself */
    int64_t recorded_ns;   /* CPU time of the recorded processes */
    int64_t others_ns;     /* of all other programs: the rest of `busy_ns` */
    /* The one of the others that ran the most, without the time of its children; none if it used
     * less than a tick, or if there are more processes than a look takes. */
    struct profile_busy_process busiest;
    uint32_t processes_seen; /* at the last look */
    bool all_processes_seen; /* at both */
    struct profile_machine machine;
};

/* ---- in a profile ---- */

struct profile;
/* The first process with PID; none: there is none. */
process_id profile_find_process(const struct profile *p, pid_t pid);
