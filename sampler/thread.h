/* One thread of the target, and the facts known about it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/claim.h"
#include "sampler/long_write.h"
#include "sampler/on_cpu.h"
#include "sampler/recorder.h"
#include "sampler/stack_area.h"
#include "sampler/thread_files.h"
#include "sampler/wait_object.h"
#include "target/proc.h"

enum { HELD_SLOTS = 20 };

/* For how long a thread was held in a slot of time, and what it lost by that. */
struct held_sum {
    uint32_t held_ns;
    uint32_t ns;
    uint32_t usual_ns; /* the same with a millisecond at most of each hold */
};

/* What a thread had and wanted of the CPUs, of late. */
struct demand {
    struct schedstat seen; /* its counts by then; no runs: never */
    double run_ns, wait_ns;
};

/* The kernel's counts of a thread right after it was let go. */
struct release {
    int64_t at_ns; /* 0: never */
    struct schedstat sched;
    uint64_t voluntary; /* switches */
    bool complete;      /* VOLUNTARY is known */
};

/* Each group of fields is assigned by the file that its comment names, and read by others. */
struct thread {
    struct process *process;
    uint32_t id; /* never used twice; 0 is none */
    pid_t tid, ns_tid;
    int fds[THREAD_FILE_COUNT]; /* −1: not open */
    struct schedstat sched;     /* as last read */

    /* thread_list.c: which threads there are, and which are wanted. */
    bool listed;           /* in the present listing of the process's threads */
    bool registered;       /* thread_list_register(): before its first sample */
    bool state_checked;    /* its state was read before that (tick.c) */
    bool zombie;           /* it has ended, but its process's other threads go on */
    bool ended;            /* it is gone, or the recording ends (tick.c) */
    bool filtered;         /* not wanted by --thread */
    bool born;             /* it began while it was recorded, and was wanted from then on */
    bool wanted_by_python; /* by the name that Python has for it */
    int64_t filter_not_before_ns, filter_wait_ns; /* until --thread is asked again */

    /* claim.c: the beliefs about it. */
    struct claim sampled;     /* its state by its last sample */
    struct claim asked;       /* its state when it was asked to stop */
    struct claim interrupted; /* the wait that a stop interrupted, with the run count back in it */
    int64_t asked_ns;
    uint32_t asked_ticks;   /* ticks that found it asked and not stopped, */
    int64_t found_asked_ns; /* the last of them at; as asked_ns if none did */
    int64_t until_ns;       /* its sample is known to hold until then, */
    uint32_t repeats;       /* ticks that found that, since the last message */

    /* dormant.c */
    bool dormant;
    size_t visited_at;    /* its place among the visited, or the dormant ones, if it is there */
    uint32_t moved_tick;  /* the last tick that found that it ran, */
    uint32_t active_tick; /* and that it ran for much of the time, or was running */
    uint32_t proofs;      /* proofs that until_ns and repeats include */
    uint32_t look_ticks, look_ticks_before; /* of the last visits: one in so many ticks */

    /* on_cpu.c */
    int64_t switch_base; /* run count − switches while it is off the CPU, and no more than 0 */
    bool base_known, displaced; /* the sampler took its CPU for this tick */
    struct switches looked;

    /* waiters.c */
    int64_t wait_seen_ns; /* when it was last found to wait for a CPU, and not asked to stop */
    float wait_share;     /* the probability with which it was asked to stop in such a wait */
    bool wait_asked;      /* it was asked to stop in such a wait, and has not been let go */
    bool wait_shown;      /* a stop has shown where it was in such a wait */

    /* thread_files.c: its name and kind, and a slow /proc file, which is left alone for a while. */
    char comm[TASK_COMM_BYTES];
    bool io_worker;
    uint64_t start_ticks;     /* as struct task_stat has it */
    uint32_t syscall_backoff; /* intervals; 0: none */
    int64_t syscall_not_before_ns;

    /* stop_requests.c: requests to stop, less often where they would hurt. */
    bool pending;      /* it was asked, and has not been let go */
    bool slow_to_stop; /* it did not stop while the sampler waited for it */
    /* in a system call, which may have run on after the request; and is over */
    bool stopped_in_call, left_call;
    uint32_t backoff;                               /* intervals; 0: none */
    int64_t stop_not_before_ns, call_not_before_ns; /* the latter: in a call that blocks */
    int64_t signal_not_before_ns, signal_wait_ns;   /* the same where signals come in its holds */

    /* tick.c: stops of a blocked thread for its registers. */
    uint64_t registers_refused;        /* the run count of a call that must not be stopped */
    struct wait_place needs_registers; /* its place when the worker last wanted them */
    struct wait_object *wait_object;   /* its wait when it was asked; NULL: never asked */

    /* seccomp.c: filters (docs/interrupted-calls.md); the first two by thread_files.c. */
    int64_t seccomp_seen_ns;
    bool seccomp_seen; /* its status has a filter */
    bool renewed;      /* a stop found it in a call that goes on as restart_syscall(2) */
    bool undone;       /* its last stop may have interrupted a call for a supervisor */
    bool supervised;   /* it has waited for a supervisor's answer: it is not stopped */

    /* capture.c */
    bool shot, wants_prefetch;       /* SHOT: sampled in the single shot */
    bool stack_cut;                  /* the last capture did not read its stack to the end */
    const struct capture_hook *hook; /* of the last capture; another one reads more */
    uint32_t stack_bytes;            /* to read next time */
    struct prefetch *prefetch;       /* NULL until a capture hook kept something */
    struct long_write long_write;

    /* lock_watch.c: the lock that it waits for, and others that do */
    struct watched_lock *lock; /* NULL: none that is watched */
    struct thread *newer_waiter, *older_waiter;

    /* stack_area.c */
    struct stack_area areas[STACK_AREAS]; /* mappings of its stack, the last found first */
    int64_t areas_checked_ns;
    uint64_t area_unknown; /* an sp that was in no known mapping; 0: none */

    /* stop_requests.c, capture.c: the kernel's counts around its stops (profile/events.h). */
    uint64_t own_switches, own_switches_asked; /* what stops have cost it; what ASKED has of it */
    uint64_t faults_before, faults_after;      /* its page faults when it was asked, and let go */
    int64_t faults_read_ns, faults_held_ns;    /* when the latter was read; how long T was held */
    uint64_t faults_last;                      /* what it had at the last look behind a stop */
    uint32_t faults_quiet; /* stops since then at which there were no new ones */
    bool faults_known;

    /* overhead.c */
    uint64_t held_ns, lost_ns; /* in all; of that, what it would have run: overhead_add() */
    struct demand demand;
    struct release released;
    int64_t watched_until_ns; /* its switches are read at each release until then */
    struct held_sum held_slot, held_slots[HELD_SLOTS]; /* of the present slot of time; before it */
};

struct thread *thread_new(struct process *process, uint32_t id, pid_t tid);
struct thread *thread_free(struct thread *t, struct thread_files *files);
