/* The sampler's state, shared by the files that make it up: sampler.c (thread and API), threads.c
 * (which threads there are), tick.c (what to do with each), capture.c (how a stack is taken).
 * Private to sampler/. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "sampler/message.h"
#include "sampler/process.h"
#include "sampler/sampler.h"
#include "sampler/tracer.h"

enum {
    MAX_PROCESSES = 256,
    MAX_STACK_BYTES = 8 << 20,     /* the default limit of a main thread's stack */
    EXTRA_CAPTURE_BYTES = 1 << 20, /* blocks that a hook may read, and the table of ranges */
};

/* What the kernel and the environment make possible; found at start (docs/sampling.md "Fallbacks").
 */
struct abilities {
    bool schedstat; /* counts are live: an unchanged run count proves an unchanged stack */
    int64_t syscall_limit_ns; /* a /syscall read longer than this is slow */
};

/* What the recorder has of a thread that is held, or was a moment ago. */
struct held_capture {
    struct task *task; /* NULL: nothing */
    struct sample_message *message;
    bool fell_asleep; /* between the look at it and the request, if it was ever off its CPU */
};

enum pause_state { PAUSE_NONE, PAUSE_ASKED, PAUSED };

struct sampler {
    struct sampler_config config;
    struct abilities can;
    struct process *processes[MAX_PROCESSES];
    uint32_t n_processes;
    struct ring *ring;
    struct feedback feedback;
    struct sampler_counters counters;
    struct recorder recorder;
    struct held_capture held;
    struct tracer *tracer;
    struct task_files files;
    int own_fd;         /* schedstat of the sampler's thread; −1: not open */
    uint32_t last_task; /* number given last */

    int64_t tick_ns;       /* when the present tick began */
    uint32_t met;          /* threads of the present process that were met in it */
    int64_t freeze_end_ns; /* --freeze: when all must be let go; 0: nobody is held yet */

    /* The tick. */
    int64_t interval_ns;  /* as it is now */
    uint64_t random;      /* state of the jitter's generator */
    struct task **queued; /* threads that will be asked to stop */
    size_t n_queued, queued_capacity;
    int64_t queued_ns;            /* when the first of them was looked at */
    bool waiting, waiting_before; /* a thread was found waiting for a CPU: in this tick, the last */
    struct task **ended;          /* threads that ended with a stop pending */
    size_t n_ended, ended_capacity;
    size_t evict_at;

    /* Slots of the last seconds, for the overhead. */
    struct {
        int64_t elapsed_ns, interval_ns;
        int64_t cpu_ns; /* that wallspy took */
    } held_slots[HELD_SLOTS];
    int64_t cpu_ns; /* that it had taken at the end of the last slot */
    int held_slot;  /* the present one */
    int64_t overhead_checked_ns;

    pthread_t thread;
    bool started;
    int wake_fd;       /* wakes the sampler's thread */
    int notify_fd;     /* wakes the worker */
    bool told;         /* something was put into the ring since it was woken */
    _Atomic int pause; /* enum pause_state */
    _Atomic bool stop, done;
    _Atomic bool tell;                                  /* sampler_tell() was called */
    _Atomic int64_t seizing_since_ns, holding_since_ns; /* see tracer.h */
    _Atomic pid_t tid;                                  /* of the sampler's thread; 0: none yet */
    _Atomic uint32_t task_count;
    _Atomic double rate_hz, worst_share;
};

/* threads.c */

/* Sees to P's threads before they are visited: lists them where that is due, notices execve and P's
 * end.  Returns whether they were listed. */
bool threads_prepare(struct sampler *s, struct process *p);
/* Lists P's threads; those that are new are not met yet.  GONE: the process is. */
void threads_list(struct sampler *s, struct process *p, bool gone);
/* Looks at T, which was listed, for the first time, and tells of it.  Not met after that: at the next tick. */
void threads_meet(struct sampler *s, struct task *t);
/* T's state as of /proc/PID/task/TID/stat, 'R' for instance.  0: unknown. */
char threads_state(const struct task *t);
/* Reads T's name and kind anew.  Returns its state as threads_state() does.  0: it does not live.  Negative: that cannot be
 * told just now, which was counted. */
int threads_look_at(struct sampler *s, struct task *t);
/* T ended, but stays listed until its process has, or until whoever traces it has reaped it. */
void threads_zombie(struct sampler *s, struct task *t);
/* T is gone.  It is freed, now or once the tracer has done with it. */
void threads_end(struct sampler *s, struct task *t);
/* Frees those that ended while a stop was asked of them, as far as the tracer has done with them. */
void threads_free_ended(struct sampler *s);

/* overhead.c */

/* T was let go just now, and NOW has its counts; by wallspy's own clock it was held for HELD_NS.  Returns for how long it
 * did not run because of that stop.  Async-signal-safe. */
uint32_t overhead_lost_ns(struct task *t, const struct schedstat *now, uint32_t held_ns);
/* T lost NS to a stop. */
void overhead_add(struct task *t, uint32_t ns);
/* After a tick: makes the interval longer or shorter, so that no thread is held for too much of its time. */
void overhead_keep(struct sampler *s);

/* tick.c */

void tick_run(struct sampler *s); /* visits every thread once */
/* Tells for how long the samples of all threads have held. */
void tick_tell(struct sampler *s);
/* No thread is asked to stop any more.  Who waits for its page is read without, and not waited for. */
void tick_conclude(struct sampler *s);
/* Tells of all threads that the recording ends. */
void tick_close(struct sampler *s);
