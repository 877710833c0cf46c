/* One observed process: its threads as they come and go, and whether it still runs the same
 * program. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "sampler/sampler.h"
#include "sampler/sleepers.h"
#include "sampler/stack_area.h"
#include "sampler/task.h"

struct process {
    pid_t pid;
    uint32_t number;
    struct mem *live; /* borrowed */
    struct task **tasks;
    size_t n_tasks, capacity;
    struct map by_tid; /* tid → index into tasks */
    size_t filter_at;  /* of the tasks, in turn: who is asked next whether --thread means it */
    struct sleepers sleepers;
    struct stack_maps stack_maps;
    int64_t locked_ns, lock_looked_ns; /* the ticks of space_lock.h: so last; asked last */
    bool comes_late;                   /* in this tick, after the others */
    int stat_fd, task_dir_fd;
    int space_fd;         /* /proc/PID/mem of the program; −1: not open */
    bool vouched;         /* that it is this program's */
    unsigned not_asked;   /* ticks since stat was read */
    uint64_t stack_start; /* of the program: changes with execve */
    bool fresh;           /* of a new program, and the first value seen of it */
    uint64_t links;       /* of the task directory, as last listed */
    uint64_t links_now;   /* and in this tick; UINT64_MAX: unknown */
    int64_t listed_ns;
    bool
        any_unwatched; /* a thread that is not sampled was listed then: filtered, not met yet, ended */
    uint64_t stop_asked; /* the tick at which it was last asked for: */
    char stopped;        /* 'T' by SIGSTOP and the like, 't' by a debugger, 0 not */
    bool lost_one;       /* a thread was found to have ended, in this tick or the last */
    int64_t
        ask_not_before_ns; /* an execve in it hangs, and who asks its threads to stop waits for that */
    int64_t
        untold_exec_ns; /* when an execve was noticed of which the worker does not know; 0: none */
    bool list_again;    /* and the threads have not been listed since */
    bool ended;
    /* It was wallspy's own child, and has been reaped. */
    _Atomic bool reaped;
    _Atomic int exit_status; /* as of waitpid(2) */
    const struct capture_hook *_Atomic hook;
    const struct capture_hook *told_hook; /* that has seen the process at a tick's beginning */
};

/* Opens what tells of PID's threads and its end.  LIVE is borrowed.  Returns 0 or the negative errno of open(2). */
int process_open(struct process **ret, pid_t pid, uint32_t number, struct mem *live);
static inline const struct capture_hook *process_hook(const struct process *p)
{
    return atomic_load_explicit(&p->hook, memory_order_acquire);
}
/* What became of it since the last call, which begins a tick. */
struct process_news {
    bool execed;
    bool main_ended; /* its main thread is a zombie; others may go on */
    bool gone;
};
struct process_news process_news(struct process *p);
/* Is it time to list its threads: did their number change, or was the last listing long ago? */
bool process_wants_listing(const struct process *p, int64_t now_ns);
/* Its threads will be listed now: their number from here on is compared with the one of this moment. */
void process_begin_listing(struct process *p, int64_t now_ns);
/* For where its threads cannot be listed: is it a zombie, whose parent has not collected it, with no thread but the main one?
 * Needs no new file descriptor. */
bool process_is_zombie(struct process *p);
struct task *process_task(const struct process *p, pid_t tid); /* NULL: none */
void process_add(struct process *p, struct task *t);
/* Takes T out; the caller frees it. */
void process_remove(struct process *p, struct task *t);
struct process *process_free(struct process *p, struct task_files *files);
