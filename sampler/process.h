/* One observed process: its threads, and whether it still runs the same program. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "sampler/dormant.h"
#include "sampler/lock_watch.h"
#include "sampler/sampler.h"
#include "sampler/stack_area.h"
#include "sampler/thread.h"

enum process_turn { TURN_FIRST, TURN_USUAL, TURN_LAST, TURN_COUNT };

struct process {
    pid_t pid;
    uint32_t number;
    struct mem *live; /* borrowed */
    struct thread **threads;
    size_t n_threads, capacity;
    struct map by_tid; /* tid → index into threads */
    size_t filter_at;  /* index of the thread to compare with --thread next */
    struct dormant dormant;
    struct stack_maps stack_maps;
    struct lock_watch *lock_watch; /* NULL: no thread has waited for a lock yet */

    /* space_lock.c: ticks, by their begin; 0: none. */
    int64_t locked_ns;       /* the last in which the address space was locked */
    int64_t lock_checked_ns; /* the last in which that was checked */

    /* left_alone.c; 0: it is not */
    int64_t left_alone_since_ns, left_alone_until_ns, left_alone_looked_ns;
    int64_t times_left_alone;

    /* tick.c */
    bool ran;               /* a thread of it was found to run or to wait for a CPU, in this tick */
    enum process_turn turn; /* in which the tick visits it */

    /* process.c: does it run the same program? */
    int stat_fd;
    int mem_fd;                /* /proc/PID/mem; −1: not open */
    bool mem_fd_valid;         /* no execve came before mem_fd was opened */
    unsigned stat_age_ticks;   /* since stat was read */
    uint64_t stack_start;      /* changes with execve */
    bool exec_settling;        /* stack_start was read in the middle of an execve */
    int64_t exec_to_report_ns; /* an execve that was not emitted yet; 0: none */

    /* Have threads come or gone? */
    int task_dir_fd;
    uint64_t links;     /* of the task directory, when its threads were last listed */
    uint64_t links_now; /* and in this tick; UINT64_MAX: unknown */
    int64_t listed_ns;  /* when the last listing began */
    int64_t listing_ns; /* the CPU time that it took */
    bool any_unwatched; /* a listed thread was not sampled: unwanted, not registered, or ended */
    bool lost_thread;   /* a thread was found to have ended, in this tick or the last */
    bool list_again;    /* at the next tick */
    bool ended;
    bool end_reported; /* MESSAGE_PROCESS_END was emitted */

    /* Job control: asked of one thread, for all. */
    uint64_t job_stop_tick; /* the tick of that */
    char job_stop;          /* 'T': by SIGSTOP and the like; 't': by a debugger; 0: not stopped */

    int64_t no_stops_before_ns; /* an execve hangs, and a request to stop would wait for it */

    /* Of a child of wallspy. */
    _Atomic bool reaped;
    _Atomic int exit_status; /* as of waitpid(2) */

    const struct capture_hook *_Atomic hook;
    const struct capture_hook *ticked_hook; /* its tick() was called for the present tick */
};

/* Opens the files that show PID's threads and its end.  LIVE is borrowed.  Returns 0 or the
 * negative errno of open(2). */
int process_open(struct process **ret, pid_t pid, uint32_t number, struct mem *live);
static inline const struct capture_hook *process_hook(const struct process *p)
{
    return atomic_load_explicit(&p->hook, memory_order_acquire);
}

struct process_changes {
    bool execed;
    bool main_ended; /* its main thread is a zombie; others may go on */
    bool gone;
};
/* Begins a tick.  Returns what changed since the one before.  LOCKED: a read of P's memory may wait
 * for long, so that none is made. */
struct process_changes process_poll(struct process *p, bool locked);
/* Has P not been listed for several times as long as that took? */
bool process_may_list(const struct process *p, int64_t now_ns);
/* Are P's threads to be listed: may they, and has their number changed, or was the last listing
 * long ago? */
bool process_wants_listing(const struct process *p, int64_t now_ns);
/* Is there nothing to be found out about P while none of its threads runs?  The next execve would
 * be seen by its memory, and its threads are as many as the kernel counts, or were listed of
 * late. */
bool process_is_known(const struct process *p, int64_t now_ns);
/* P's threads are listed from here on: changes of their number count from this moment. */
void process_begin_listing(struct process *p, int64_t now_ns);
/* P's threads were listed, N_LISTED of them.  Where one ends meanwhile the kernel may leave out
 * those behind it (next_tid() of fs/proc/base.c): a list of fewer than it counted at the begin is
 * made again at the next tick. */
void process_end_listing(struct process *p, uint64_t n_listed);
/* Is P a zombie without other threads?  For where its threads cannot be listed: no new descriptor
 * is needed. */
bool process_is_zombie(struct process *p);
/* Has P ended?  Reads nothing of its memory. */
bool process_has_ended(struct process *p);
struct thread *process_thread(const struct process *p, pid_t tid); /* NULL: none */
void process_add(struct process *p, struct thread *t);
/* Takes T out of P; the caller frees it. */
void process_remove(struct process *p, struct thread *t);
/* P has ended: closes its files and frees its threads.  P stays, because others have its number. */
void process_close(struct process *p, struct thread_files *files);
struct process *process_free(struct process *p, struct thread_files *files);
