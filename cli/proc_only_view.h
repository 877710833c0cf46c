/* A view from /proc of a process that may not be attached to: where its threads' time goes, without
 * their stacks. */
#pragma once

#include <sys/types.h>

/* Looks at PID for two seconds, or until wallspy is asked to stop, and prints, per thread, the
 * shares of time on a CPU, waiting for one and blocked, and where in the kernel it mostly waits
 * (wchan; hidden for other users' processes).  Does nothing if the process is gone.
 * Source: proc_pid_wchan(5), sched-stats.rst. */
void proc_only_view(pid_t pid);
