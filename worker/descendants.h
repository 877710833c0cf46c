/* The processes that descend from given ones, found soon after their births without touching them.
 *
 * The kernel hands out pids in ascending order, and /proc/loadavg ends in the last one.  So a read
 * of it shows whether any process or thread was born, and which numbers these may have; each of
 * those says who its parent is.  A look at all children finds the rest, and sometimes checks the
 * numbers: some come out of order, and /proc/loadavg may not be the kernel's own (lxcfs).  A
 * process whose parent ended before it was seen has no known ancestor.
 * Source: kernel/pid.c alloc_pid (idr_alloc_cyclic), fs/proc/loadavg.c; proc_loadavg(5),
 * proc_tid_children(5). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct descendants;
struct descendant {
    pid_t pid;
    uint64_t start_ticks; /* with the pid it names a process for good */
};

/* Environment WALLSPY_NO_PROC_CHILDREN=1: as if the kernel had no CONFIG_PROC_CHILDREN. */
struct descendants *descendants_new(void);
/* From here on looks for the children of process PID.  False: it is gone. */
bool descendants_add(struct descendants *d, pid_t pid);
/* Looks for births if it is time, in 4 µs where there was none; call it at least every 10 ms.
 * WHOLE: at all children, also those that were born before.  Calls EACH for each process that is
 * new, parents first; their own children are found as well.  This process and its children are
 * never found.  Returns how many there were. */
size_t descendants_look(struct descendants *d, bool whole,
                        void (*each)(void *ctx, const struct descendant *found), void *ctx);
/* The last pid in the text of /proc/loadavg; 0: there is none. */
pid_t descendants_parse_last_pid(const char *text, size_t len);
/* Did the kernel hand out PID after LAST, and NOW at the latest?  Numbers begin anew at the end. */
bool descendants_is_between(pid_t pid, pid_t last, pid_t now);
struct descendants *descendants_free(struct descendants *d); /* returns NULL */
