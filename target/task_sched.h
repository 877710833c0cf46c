/* /proc/PID/task/TID/sched: what the scheduler knows of a thread.  It exists with
 * CONFIG_SCHED_DEBUG, and always since Linux 6.15.  Source: kernel/sched/debug.c,
 * proc_sched_show_task(). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct task_sched {
    /* When the thread's run time was last brought up to date, by the clock of its CPU: at a switch
     * that is the same moment for the thread that goes and the one that comes. */
    uint64_t exec_start_ns;
    uint64_t switches; /* voluntary and involuntary */
};
int task_sched_parse(const char *text, size_t len, struct task_sched *ret); /* 0 or -EPROTO */
/* One pread of FD.  0; -ESRCH: the thread is gone; -EPROTO; another errno of read(2). */
int task_sched_read(int fd, struct task_sched *ret);
