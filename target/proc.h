/* The files of /proc about a process and its threads.  Parsers are pure and take text; readers are
 * thin.  Those for the tick take a kept-open fd, do one pread each and allocate nothing.
 * Source: proc(5) pages proc_pid_stat, _status, _syscall, _task;
 * Documentation/scheduler/sched-stats.rst. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum { TASK_COMM_BYTES = 16, PROC_TEXT_BYTES = 4096 };

struct schedstat {
    uint64_t run_ns, wait_ns; /* on a CPU; runnable but waiting for one */
    uint64_t runs;            /* times it was put on a CPU (pcount) */
};
int schedstat_parse(const char *text, size_t len, struct schedstat *ret); /* 0 or -EPROTO */
int schedstat_read(int fd, struct schedstat *ret);                        /* 0, -ESRCH, -EPROTO */

enum syscall_view { SYSCALL_RUNNING, SYSCALL_BLOCKED }; /* "running", or off the CPU */
struct syscall_state {
    enum syscall_view view;
    int64_t number; /* −1: blocked outside a system call (page fault, stopped) */
    uint64_t args[6];
    uint64_t sp, pc;
};
int syscall_state_parse(const char *text, size_t len, struct syscall_state *ret);
int syscall_state_read(int fd, struct syscall_state *ret); /* 0, -ESRCH, -EPERM, -EPROTO */

struct task_stat {
    char state; /* R S D T t Z X I */
    char comm[TASK_COMM_BYTES];
    pid_t ppid;
    uint32_t flags; /* PF_…, e.g. PF_KTHREAD 0x00200000, PF_IO_WORKER 0x10 */
    uint64_t minor_faults, major_faults;
    uint64_t user_ticks, system_ticks; /* CPU time, USER_HZ: a thread's, or the whole process's */
    uint64_t children_ticks;           /* of the process's children that it has waited for */
    uint64_t threads;                  /* of the process */
    uint64_t start_ticks; /* since boot, USER_HZ: with the tid, names a task for good */
    uint64_t stack_start; /* of the process; 0 if hidden.  Changes with exec */
};
int task_stat_parse(const char *text, size_t len, struct task_stat *ret);
int task_stat_read(int fd, struct task_stat *ret);

struct task_status {
    char state;
    pid_t tgid, tracer; /* tracer: 0 none */
    pid_t ns_tid;       /* the innermost of NSpid: its id in its own pid namespace */
    uid_t uid, euid, suid;
    gid_t gid, egid, sgid;
    uint64_t permitted, effective;   /* capabilities, by bit; 0 if unknown */
    uint64_t bounding;               /* those that a program of it may get by execve */
    bool no_new_privs;               /* execve gives it none, as sudo would */
    int seccomp;                     /* 0 none, 1 strict, 2 filter; −1 unknown */
    uint64_t voluntary, involuntary; /* context switches */
};
int task_status_parse(const char *text, size_t len, struct task_status *ret);
/* One pread, or more where the text is longer than PROC_TEXT_BYTES: a task may have thousands of
 * groups. Returns 0, -ESRCH, -EPROTO or another errno of read(2). */
int task_status_read(int fd, struct task_status *ret);

/* Opens /proc/PID/task/TID/NAME for reading, close-on-exec.  Returns an fd or a negative errno. */
int proc_task_open(pid_t pid, pid_t tid, const char *name);
/* Opens /proc/PID/NAME ("maps", "mem") alike; -ESRCH: no such process, -EPERM: not permitted. */
int proc_open(pid_t pid, const char *name);
/* The status of PID, or of its thread TID ≠ 0.  Returns 0 or a negative errno, -EPROTO if it is
 * malformed. */
int proc_status(pid_t pid, pid_t tid, struct task_status *ret);
/* Its stat; of thread TID of PID the counts, and the system call that it is in.  All return as
 * proc_status(). */
int proc_stat(pid_t pid, pid_t tid, struct task_stat *ret);
int proc_schedstat(pid_t pid, pid_t tid, struct schedstat *ret);
int proc_syscall(pid_t pid, pid_t tid, struct syscall_state *ret);
/* Calls EACH for every thread of PID.  Returns 0, -ESRCH, or why they could not all be listed. */
int proc_each_task(pid_t pid, void (*each)(void *ctx, pid_t tid), void *ctx);
/* How many threads PID has, with one that has ended before the others; 0: unknown. */
uint64_t proc_thread_count(pid_t pid);
/* Reads a small file (not status, which may be long) of /proc/PID (or /proc/PID/task/TID with TID ≠
 * 0), NUL-terminated and cut at CAPACITY.  Returns its length or a negative errno. */
ssize_t proc_read_text(pid_t pid, pid_t tid, const char *name, char *buf, size_t capacity);
/* The kernel's function that thread TID of PID sleeps in; "" where it is in none, or not to be
 * read. */
enum { PROC_WCHAN_BYTES = 64 };
void proc_read_wchan(pid_t pid, pid_t tid, char ret[PROC_WCHAN_BYTES]);
/* How often a thread has called read(2), pread64(2) and the like, and write(2) and the like, and
 * the bytes that these calls read and wrote, from a cache or a pipe, too.
 * Source: proc_pid_io(5), syscr, syscw, rchar, wchar. */
struct task_calls {
    uint64_t reads, writes, read_bytes, written_bytes;
};
/* Of thread TID of PID.  Returns 0 or a negative errno: -ENOENT: no such thread, or the kernel does
 * not count; -EPROTO: the file has other lines. */
int proc_read_calls(pid_t pid, pid_t tid, struct task_calls *ret);
/* The name of PID, or of its thread TID ≠ 0, without the line end that the kernel adds.  Returns
 * its length or a negative errno. */
ssize_t proc_read_comm(pid_t pid, pid_t tid, char ret[TASK_COMM_BYTES]);
/* The environment that PID began with: *RET_LEN bytes of NAME=VALUE, each ended by a NUL, cut at
 * 256 KiB.  Returns NULL if it cannot be read.  The caller frees it. */
char *proc_read_environment(pid_t pid, size_t *ret_len);
/* The link /proc/PID/NAME ("exe", "root", "fd/7").  Returns 0 or a negative errno; RET is always
 * NUL-terminated, cut if longer. */
int proc_read_link(pid_t pid, const char *name, char *ret, size_t capacity);
bool proc_runs_other(pid_t pid, pid_t other); /* do they run two files, by that link? */
uint64_t proc_net_namespace(pid_t pid);       /* its inode; 0: unknown */
