/* Which processes have some pipes, sockets or files open: a look at all descriptors of all
 * processes that may be looked at.  Takes some 25 µs a process, so it is rationed by the caller: on
 * a machine with thousands of them a round takes several runs.  Source: proc_pid_fd(5). */
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
/* A look at all processes, in the order of their pids. */
struct fd_round {
    struct map looked_for;
    struct fd_user *users; /* in the order of being found: a process's are in a row */
    size_t n, capacity;
    int64_t begun_ns; /* by clock_now_ns() */
    bool whole;       /* all descriptors of all of the user's processes were looked at */
    pid_t next_pid;   /* where it goes on */
    uint64_t next_fd; /* of that */
};
struct fd_scan {          /* zero-initialise */
    struct map wanted;    /* by the next round */
    struct fd_round last; /* that is over */
    struct fd_round now;  /* that goes on, if GOES_ON */
    bool goes_on;
    uint64_t n_cut; /* rounds that were given up */
};

/* The number by which links are compared. */
uint64_t fd_scan_key(const char *link);
/* Are the users of LINK known as they were after SINCE_NS?  Else a round that begins later looks
 * for them, or that which goes on. */
bool fd_scan_has(struct fd_scan *s, uint64_t link, int64_t since_ns);
/* The next round looks for LINK. */
void fd_scan_want(struct fd_scan *s, uint64_t link);
/* Is there anything to look for? */
bool fd_scan_is_wanted(const struct fd_scan *s);
/* Goes on with the round, or begins one for all wanted links.  Breaks off after LONGEST_CPU_NS of
 * CPU time: wall time says nothing, because other programs may take any part of it.  Other users'
 * processes are left out where the kernel does not show their descriptors; processes that begin
 * meanwhile may be. */
void fd_scan_run(struct fd_scan *s, int64_t longest_cpu_ns);
void fd_scan_release(struct fd_scan *s);
