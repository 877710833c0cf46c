/* The sampler's state, which the files of sampler/ share: sampler.c (its thread and API),
 * thread_list.c (which threads there are), tick.c (what is done with each), capture.c (how a stack
 * is read).  Private to sampler/. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "capture/message.h"
#include "sampler/priority.h"
#include "sampler/process.h"
#include "sampler/sampler.h"
#include "sampler/tracer.h"
#include "sampler/waiters.h"

enum {
    MAX_STACK_BYTES = 8 << 20,     /* the default limit of a main thread's stack */
    EXTRA_CAPTURE_BYTES = 1 << 20, /* blocks that a hook may read, and the table of ranges */
};

/* The features that the kernel and the environment allow, found at the start (docs/sampling.md,
 * "Fallbacks"). */
struct abilities {
    bool schedstat;           /* the kernel counts: an unchanged run count proves a stack */
    bool sched;               /* /proc/PID/task/TID/sched is there */
    int64_t syscall_limit_ns; /* a longer read of /syscall is slow */
};

/* The recorder's copy of a thread that is held, or was just let go. */
struct held_capture {
    struct thread *thread; /* NULL: nothing */
    struct sample_message *message;
    bool fell_asleep; /* as claim_judge() returned */
};

enum pause_state { PAUSE_NONE, PAUSE_ASKED, PAUSED };

struct sampler {
    struct sampler_config config;
    struct abilities can;
    /* process_table.c */
    struct process *added[SAMPLER_MAX_PROCESSES]; /* by number */
    _Atomic uint32_t n_added;
    uint32_t n_taken;                                 /* of those, by the sampler's thread */
    struct process *processes[SAMPLER_MAX_PROCESSES]; /* sampled ones */
    uint32_t n_processes;
    struct ring *ring;
    struct feedback feedback;
    struct sampler_counters counters;
    struct recorder recorder;
    struct held_capture held;
    /* While one is held, or may be: whose memory is read.  Then it may be gone. */
    struct thread *held_thread;
    struct tracer *tracer;
    struct thread_files files;
    int own_fd, own_sched_fd; /* schedstat and sched of the sampler's thread; −1: not open */
    uint32_t last_thread_id;  /* the number given last */
    uint32_t evict_process;   /* the thread whose files are closed next: its process, */
    size_t evict_at;          /* and its place there */
    bool shooting;            /* in the single shot */
    int64_t freeze_end_ns;    /* when all must be let go; 0: none is held yet */

    /* The tick. */
    int64_t tick_ns;        /* when it began */
    uint32_t n_registered;  /* threads of the present process registered in it */
    int64_t interval_ns;    /* as it is now */
    uint64_t random;        /* random_share() */
    struct thread **queued; /* threads that will be asked to stop */
    size_t n_queued, queued_capacity;
    int64_t queued_ns;            /* when the first of them was visited */
    bool waiting, waiting_before; /* a thread waited for a CPU: in this tick; in the last */
    struct waiters waiters;
    uint64_t woke_ns;      /* on_cpu.c: as struct task_sched has it; 0: unknown */
    uint32_t woke_ticks;   /* in so many more it is read */
    struct thread **ended; /* threads that ended while a stop was pending */
    size_t n_ended, ended_capacity;

    /* overhead.c: the last seconds in slots. */
    struct {
        int64_t elapsed_ns, interval_ns;
        int64_t cpu_ns;   /* wallspy's CPU time in the slot */
        int64_t taken_ns; /* of the sampler's CPU time, as much as threads waited for CPUs */
    } held_slots[HELD_SLOTS];
    int64_t cpu_ns, own_cpu_ns; /* wallspy's CPU time at the end of the last slot; the sampler's */
    bool registering;           /* threads were to be registered then */
    uint64_t own_wait_ns;  /* for how long the sampler had waited for a CPU, by the last look */
    int n_cpus, held_slot; /* HELD_SLOT: the present one */
    int64_t overhead_checked_ns;
    struct priority priority;

    pthread_t thread;
    bool started;
    uint64_t start_ticks;                   /* when the thread began, as struct task_stat has it */
    int wake_fd;                            /* wakes the sampler's thread */
    int notify_fd;                          /* wakes the worker */
    bool emitted;                           /* the ring has something new for it */
    _Atomic int pause;                      /* enum pause_state */
    _Atomic bool stays_paused, pause_ended; /* see sampler_stay_paused(), sampler_end_pause() */
    _Atomic bool stop, done;
    _Atomic bool flush;                                 /* sampler_flush() was called */
    _Atomic int64_t seizing_since_ns, holding_since_ns; /* see tracer.h */
    _Atomic pid_t tid;                                  /* of the sampler's thread; 0: none yet */
    _Atomic uint32_t thread_count;
    _Atomic double rate_hz, worst_held, worst_lost;
};

/* process_table.c, on the sampler's thread */

/* Begins a tick: takes over the processes that were added, closes those that have ended. */
void process_table_update(struct sampler *s);
/* Is no process left to sample? */
bool process_table_done(const struct sampler *s);
/* Emits P's end.  False: the ring is full; call it again. */
bool process_table_report_end(struct sampler *s, struct process *p);
/* The process or thread PID has ended, as waitpid(2) says by STATUS.  Async-signal-safe. */
void process_table_on_child(void *sampler, pid_t pid, int status);
/* Frees all processes; any thread, when the sampler's has ended. */
void process_table_release(struct sampler *s);

/* thread_list.c */

/* Begins a tick of P: lists its threads if that is due, notices execve and P's end.  LOCKED: it
 * reads none of its memory.  Returns whether the threads were listed. */
bool thread_list_update(struct sampler *s, struct process *p, bool locked);
/* Lets P's hook look at its memory.  One with much to do goes on at the next tick, but in a single
 * shot, which has none. */
void thread_list_run_hook(struct sampler *s, struct process *p);
/* Lists P's threads; new ones are not registered yet.  GONE: P is. */
void thread_list_read(struct sampler *s, struct process *p, bool gone);
/* Reads the name and kind of T, which was listed, and emits it.  Where these cannot be read just
 * now T stays unregistered until the next tick. */
void thread_list_register(struct sampler *s, struct thread *t);
/* T has ended, but is listed until its process ends, or until its tracer has reaped it. */
void thread_list_zombie(struct sampler *s, struct thread *t);
/* T is gone.  Frees T, now or when its last stop is no longer pending. */
void thread_list_end(struct sampler *s, struct thread *t);
/* Frees the threads that ended while a stop was pending, if it no longer is. */
void thread_list_free_ended(struct sampler *s);

/* tick.c */

/* Visits every thread once. */
void tick_run(struct sampler *s);
/* Emits for how long the samples of all threads have held.  False: the ring is full; call it
 * again. */
bool tick_flush(struct sampler *s);
/* Ends the requests to stop: pending threads that wait for a page are read without their stop. */
void tick_conclude(struct sampler *s);
/* Emits the end of all threads, which the recording's end is. */
void tick_close(struct sampler *s);
