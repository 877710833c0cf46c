/* The files of /proc about a thread of the target: its run count, its state, its system call.
 *
 * Five of its files stay open, because a read costs a tenth of an open.  With more threads than
 * descriptors the files of others are closed for it.  The target runs.  Private to sampler/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "target/proc.h"
#include "target/task_sched.h"

struct sampler;
struct thread;

enum thread_file {
    FILE_SCHEDSTAT,
    FILE_SYSCALL,
    FILE_STATUS,
    FILE_STAT,
    FILE_SCHED,
    THREAD_FILE_COUNT
};

/* The files open for all threads. */
struct thread_files {
    uint32_t open;
};

/* T's FILE as a descriptor, opened if it is not yet.  Negative errno: it cannot be. */
int thread_file_fd(struct sampler *s, struct thread *t, enum thread_file file);
void thread_files_close(struct thread *t, struct thread_files *files);
/* All but its schedstat. */
void thread_files_keep_counts(struct thread *t, struct thread_files *files);
/* Closes a quarter of the files that are open, of the threads next in turn but KEPT, which may be
 * NULL.  Theirs are opened again when needed. */
void thread_files_evict(struct sampler *s, const struct thread *kept);
/* Reads T's counts: zeros, where the kernel keeps none.  0; -ESRCH: T is gone; another negative
 * errno. */
int thread_read_schedstat(struct sampler *s, struct thread *t, struct schedstat *ret);
/* Reads T's status.  0 or a negative errno. */
int thread_read_status(struct sampler *s, struct thread *t, struct task_status *ret);
/* Reads what the scheduler knows of T.  0; -ENOENT: this kernel does not tell; another negative
 * errno. */
int thread_read_sched(struct sampler *s, struct thread *t, struct task_sched *ret);
/* Reads how many page faults T has had, if its stat is open.  Async-signal-safe. */
bool thread_read_faults(const struct thread *t, uint64_t *ret);
/* Reads in which system call T is, and its sp and pc.  0; -ESRCH: T is gone; -EAGAIN: the file is
 * slow, and is left alone for now; another negative errno. */
int thread_read_syscall(struct sampler *s, struct thread *t, struct syscall_state *ret);
/* Does T run, or wait for a CPU?  Of such a thread its call is cheaper to read than its stat
 * (fs/proc/base.c, proc_pid_syscall()).  False, too, where it cannot be read. */
bool thread_is_awake(struct sampler *s, struct thread *t);
/* T's state as of its stat, 'R' for instance.  0: unknown. */
char thread_read_state(struct sampler *s, struct thread *t);
/* Reads T's name and kind anew.  Returns T's state as thread_read_state() does; 0: it has ended, or
 * is about to; negative: it cannot be read just now, which is counted. */
int thread_read_stat(struct sampler *s, struct thread *t);
