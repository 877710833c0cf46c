/* A dump of what /proc says of threads without reading the process's memory: where that hangs. */
#pragma once

#include "dump/dump.h"

/* Sets state and system call of T, of which pid and tid are set; RET gets its stat.  False: it has
 * ended. */
bool dump_proc_read(struct dump_thread *t, struct task_stat *ret);
/* Fills D, which is zero, with the threads of N processes and a profile of its own: their states,
 * system calls and the kernel's functions that they sleep in, no stacks.  No read of it waits for
 * the process, or for a file system.  The caller releases D as any, and its profile. */
void dump_proc_fill(struct dump *d, const pid_t *pids, size_t n);
