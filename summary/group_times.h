/* How long the threads of a group do what, by samples, and how that fits the kernel's counts. */
#pragma once

#include "summary/groups.h"

/* Sets GROUP's class_ns; T is the tree of its stacks. */
void group_times_sum(struct thread_group *group, struct call_tree *t);
/* By what a wait of GROUP is scaled down to the kernel's count, where samples find it off the CPU
 * for longer than the kernel counts; else 1. */
double off_cpu_scale(const struct thread_group *group);
/* By what GROUP's time on a CPU and waiting for one is scaled to the kernel's count of both. */
double active_scale(const struct thread_group *group);
