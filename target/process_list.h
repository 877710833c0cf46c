/* All processes of the machine that are visible here, as one look at /proc finds them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/proc.h"

struct listed_process {
    uint64_t pid, ppid;
    uint64_t start_ticks; /* with the pid it names a process for good */
    int64_t cpu_ns;       /* its CPU time so far */
    int64_t children_ns;  /* that of its children which have ended and that it waited for */
    char comm[TASK_COMM_BYTES];
};

struct process_list {             /* zero-initialise */
    struct listed_process *items; /* by pid */
    size_t n, capacity;
    bool whole; /* none was left out */
};

/* Fills RET anew with at most MOST processes, and with no more once it has taken
 * LONGEST_CPU_NS of CPU time. */
void process_list_read(struct process_list *ret, size_t most, int64_t longest_cpu_ns);
void process_list_copy(struct process_list *to, const struct process_list *from);
/* Adds the children of PID that a list which is not whole may lack.  False: the kernel does not
 * list children (CONFIG_PROC_CHILDREN), or PID is gone.  Source: proc_tid_children(5). */
bool process_list_add_children(struct process_list *l, pid_t pid);
/* The pids in the text of a children file, at most MOST; the last one counts only if a space
 * follows.  Returns how many. */
size_t process_list_parse_children(const char *text, size_t len, pid_t *ret, size_t most);
/* NULL: it is not there. */
const struct listed_process *process_list_find(const struct process_list *l, pid_t pid);
/* The CPU time of process IX of NOW since BEFORE was read; −1: unknown, because BEFORE left some
 * processes out.  A process that began after BEGAN_TICKS, the moment at which BEFORE was read, has
 * used all of its time since. */
int64_t process_list_used_ns(const struct process_list *before, const struct process_list *now,
                             size_t ix, uint64_t began_ticks);
/* The present moment in ticks of USER_HZ since the boot, as `start_ticks` counts them. */
uint64_t process_list_ticks(void);
void process_list_release(struct process_list *l);
