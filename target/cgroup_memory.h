/* The memory that a process's cgroup, and the groups above it, may use, and how often they ran
 * against that while the process is watched.  The pages of files that a group reads count, too: at
 * the limit the kernel drops them, and reads them again when they are wanted.
 * Source: Documentation/admin-guide/cgroup-v2.rst (memory.max, memory.high, memory.events.local),
 * Documentation/admin-guide/cgroup-v1/memory.rst. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct cgroup_memory;
/* Finds PID's group and reads its counters; the caller frees the result.  Never NULL: a group that
 * cannot be read has no facts.  A process that moves to another group is not followed. */
struct cgroup_memory *cgroup_memory_new(pid_t pid);
/* The same from texts: MOUNTINFO is /proc/PID/mountinfo, CGROUP /proc/PID/cgroup; ROOT is what its
 * paths begin with here. */
struct cgroup_memory *cgroup_memory_open(const char *mountinfo, const char *cgroup,
                                         const char *root);
/* Reads the counters again; those of a group that was removed stay. */
void cgroup_memory_look(struct cgroup_memory *m);

/* Of the group that ran against its limit most often; where none did, of the tightest. */
struct cgroup_memory_facts {
    uint64_t limit_bytes; /* 0: none has a limit */
    uint64_t used_bytes;  /* at the last look */
    uint64_t reached;     /* how often, since the first look */
    const char *path;     /* the group's directory, "" for none; valid as long as M */
};
struct cgroup_memory_facts cgroup_memory_facts(const struct cgroup_memory *m);
struct cgroup_memory *cgroup_memory_free(struct cgroup_memory *m); /* returns NULL */
