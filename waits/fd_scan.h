/* Which processes have some pipes, sockets or files open: one look at all descriptors of all
 * processes that may be looked at.  Takes some 25 µs a process, so it is rationed by the caller.
 * Source: proc_pid_fd(5). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"

struct fd_user {
    uint64_t link; /* fd_scan_key() */
    pid_t pid;
    uint64_t fd;
};
struct fd_scan {           /* zero-initialise */
    struct map wanted;     /* next time */
    struct map looked_for; /* last time */
    struct fd_user *users; /* in the order of being found */
    size_t n, capacity;
    uint64_t n_cut; /* scans that were not whole */
    bool whole;     /* all descriptors of all of the user's processes were looked at */
    int64_t end_ns; /* when it was over, by clock_now_ns() */
};

/* The number by which links are compared. */
uint64_t fd_scan_key(const char *link);
void fd_scan_want(struct fd_scan *s, uint64_t link);
/* Finds the users of all wanted links, which are wanted no more.  Breaks off after LONGEST_CPU_NS
 * of CPU time: wall time says nothing, because other programs may take any part of it.  Other
 * users' processes are left out where the kernel does not show their descriptors. */
void fd_scan_run(struct fd_scan *s, int64_t longest_cpu_ns);
void fd_scan_release(struct fd_scan *s);
