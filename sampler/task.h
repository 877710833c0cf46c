/* One thread under observation: its kept-open /proc files and what its last sample said. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/counters.h"
#include "sampler/object.h"
#include "sampler/recorder.h"
#include "sampler/snapshot.h"
#include "sampler/stack_area.h"
#include "target/proc.h"

enum { HELD_SLOTS = 20 };

/* For how long a thread was held in a slot of time. */
struct held_sum {
    uint32_t ns;
    uint32_t usual_ns; /* the same without what is beyond a millisecond of any hold */
};

/* What the kernel had counted of a thread right after it was let go. */
struct release {
    int64_t at_ns; /* 0: never */
    struct schedstat sched;
    uint64_t voluntary; /* switches */
    bool complete;      /* VOLUNTARY is known */
};

/* Where a thread is off the CPU. */
struct wait_place {
    int64_t syscall; /* its number; −1: outside of any, as in a page fault */
    uint64_t sp, pc; /* 0: nowhere */
};

enum task_file { TASK_SCHEDSTAT, TASK_SYSCALL, TASK_STATUS, TASK_FILE_COUNT };

struct task {
    struct process *process;
    uint32_t id; /* never used twice; 0 is none */
    pid_t tid, ns_tid;
    int fds[TASK_FILE_COUNT]; /* −1: not open */
    char comm[TASK_COMM_BYTES];
    bool seen;   /* in the present listing of the process's threads */
    bool met;    /* looked at, and told of: threads_meet() */
    bool peeked; /* its state was looked at before that */
    bool zombie; /* it ended, but its process's other threads go on */
    bool io_worker;
    bool filtered;         /* not wanted by --thread */
    bool wanted_by_python; /* by the name that Python has for it */
    bool ended;

    /* The last sample. */
    bool sampled;    /* there was one */
    bool repeatable; /* it was found off the CPU: holds while the run count and HOOK stay */
    bool stack_cut;  /* its stack was not read to the end */
    const struct capture_hook *hook; /* the process's then; another one reads more */
    enum thread_state state;
    struct schedstat sched; /* as last read */
    uint64_t sampled_runs;  /* run count at the sample */
    struct wait_place sampled_at;
    int64_t until_ns; /* the sample is known to hold until then */
    uint32_t repeats;

    /* sleepers.h */
    bool asleep;
    uint32_t moved_tick; /* in which it was last found to have run */
    uint32_t proofs;     /* of its sleep, that are in until_ns and repeats */

    /* Running or waiting for a CPU (docs/sampling.md): run count − switches while it is off the
     * CPU. */
    int64_t switch_base;
    bool base_known;

    /* A stop that was asked for. */
    bool pending;
    int64_t requested_ns;
    struct schedstat requested_sched;
    enum thread_state requested_state;
    struct wait_place requested_at; /* of THREAD_BLOCKED */
    uint64_t
        registers_refused; /* the run count at which they were wanted, in a call that must not be stopped */
    struct wait_place
        needs_registers; /* where it was when the worker found last that it needs them */
    uint32_t pending_repeats;
    bool slow_to_stop; /* it did not stop while it was waited for */

    /* The wait that a stop interrupted last. */
    struct wait_place stopped_at;
    uint64_t
        stopped_runs; /* the run count once it is back in it, if it did nothing else; 0: unknown */

    /* Seccomp filters (docs/interrupted-calls.md). */
    bool filter_seen; /* as of the last look at its status */
    int64_t filter_seen_ns;
    bool renewed; /* a stop found it in a call that goes on as restart_syscall(2) */
    bool
        undone; /* the last stop found it in a call that it may have interrupted for a supervisor */
    bool supervised; /* it has waited for a supervisor's answer: it is not stopped */

    /* Stops and slow files are spaced out where they would hurt. */
    uint32_t backoff; /* intervals; 0 none */
    int64_t stop_not_before_ns, syscall_not_before_ns;
    int64_t call_not_before_ns; /* a call that blocks, for its registers */
    uint32_t syscall_backoff;

    int64_t filter_not_before_ns, filter_wait_ns; /* until it is asked whether --thread means it */

    /* Captures. */
    struct object *object; /* what it waited for when it was asked to stop; NULL: nothing yet */
    uint32_t stack_bytes;  /* to read next time */
    struct stack_area areas[STACK_AREAS]; /* that its stack was in, the last found first */
    int64_t areas_checked_ns;
    uint64_t area_unknown;     /* an sp that was in none that was known; 0: none */
    struct prefetch *prefetch; /* NULL until a capture hook kept something */
    bool wants_prefetch;
    uint64_t held_ns; /* as the thread lost it: overhead_lost_ns() */
    struct release released;
    int64_t
        watched_until_ns; /* stops of it were heard of late: its switches are read at each release */
    struct held_sum held_slot;              /* in the present slot of time */
    struct held_sum held_slots[HELD_SLOTS]; /* in those before it */
};

/* Open /proc files of all tasks, bounded by the limit on file descriptors. */
struct task_files {
    uint32_t open, limit;
    struct sampler_counters *counters;
};

struct task *task_new(struct process *process, uint32_t id, pid_t tid);
/* Opens FILE if it is not yet.  Returns its fd or a negative errno; −EMFILE: the caller must evict.
 */
int task_fd(struct task *t, enum task_file file, struct task_files *files);
void task_close(struct task *t, enum task_file file, struct task_files *files);
struct task *task_free(struct task *t, struct task_files *files);
