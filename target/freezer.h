/* Frozen cgroups (docker pause, systemctl freeze), and what the kernel's function tells of a thread
 * that is off the CPU outside of system calls.
 * Source: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/freezer-subsystem.rst;
 * proc_pid_wchan(5), proc_pid_stack(5). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum outside_of_calls {
    OUTSIDE_UNKNOWN,
    OUTSIDE_PAGE, /* a page fault, or the memory that it needs */
    OUTSIDE_FROZEN,
};
/* WCHAN: the kernel's function that a thread sleeps in. */
enum outside_of_calls freezer_judge(const char *wchan);
/* STACK: the text of /proc/PID/task/TID/stack, which only root may read.  It tells also of file
 * systems whose functions freezer_judge() does not know. */
bool freezer_is_in_fault(const char *stack);
/* The group of a process in version 2 (CONTROLLER ""), or of a controller of version 1: CGROUP is
 * the text of /proc/PID/cgroup.  False: none, or it does not fit. */
bool freezer_find_group(const char *cgroup, const char *controller, char *ret, size_t capacity);
/* Is the cgroup of process PID, or one above it, frozen?  Where these are mounted as usual. */
bool freezer_is_frozen(pid_t pid);
