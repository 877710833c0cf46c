/* Why threads wait for a CPU.  Private to findings.c and rules_*.c. */
#pragma once

#include "summary/rules.h"

/* Appends the cause behind "main waits 48% of its time for a CPU": ": its cgroup may use …".
 * Returns whether a limit is it, which the user can lift: a quota, an affinity, a nice value, a
 * hypervisor, a variable that starts more threads than there are CPUs.  Else all the threads that
 * want one are. */
bool add_cpu_shortage(const struct scene *s, const struct thread_group *group, struct text *words,
                      struct finding *f);
