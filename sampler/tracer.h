/* Asks threads to stop, and lets them go.  Only tracer.c, launch.c and stop_trial.c call
 * ptrace(2) and waitpid(2).
 *
 * A stop is a request, not a wait: tracer_request() returns at once.  When the thread has stopped,
 * tracer_reap() hands it to the handler and releases it.  While a request is out SIGCHLD's handler
 * reaps too, also inside another PTRACE_SEIZE.  Otherwise three would wait for each other for ever:
 * a vfork parent, which cannot stop, a sibling's execve, which waits for the parent, and our
 * PTRACE_SEIZE, which waits for the execve.  And a process ends only when its traced threads that
 * died are reaped.
 *
 * All calls from one thread, the sampler's, which blocks SIGCHLD outside of these calls; all other
 * threads block it always.  Source: ptrace(2), kernel/ptrace.c, kernel/signal.c. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/snapshot.h"

struct tracer;

/* A thread that has stopped and is held. */
struct stop {
    pid_t tid;
    uint64_t tag; /* as given to tracer_request() */
    struct regs regs;
    uint64_t fs_base;
    int64_t syscall;    /* its number; −2: it was not in the kernel */
    bool registers_ok;  /* false: it was killed before they were read */
    bool job_stopped;   /* by SIGSTOP and the like; stays so after the release */
    bool restarting;    /* the stop interrupted a system call, which will be restarted */
    bool repaired;      /* the call's result −EINTR was set to −ERESTARTNOHAND */
    bool renewed;       /* the call's result, restart_syscall(2), was set to −ERESTARTNOHAND */
    bool undone;        /* the call begins anew for its supervisor or server */
    bool perturbed;     /* the program will see −EINTR, because nobody may repeat the call */
    bool cut;           /* the call did less than it was asked for, likely for this stop */
    int64_t stopped_ns; /* its registers were read by then, so it was off its CPU */
};

/* How long a thread was held. */
struct hold {
    uint32_t ns;      /* by wallspy's own clock, which begins when wallspy hears of the stop */
    uint32_t most_ns; /* since it was interrupted: no hold is longer */
    uint32_t deaf_ns; /* before that: wallspy did not listen, if it had a CPU */
    bool signalled;   /* a signal came for its process meanwhile, which another thread may take */
};

struct tracer_handler {
    void *ctx;
    /* CLOCK_MONOTONIC; 0: no such time. */
    _Atomic int64_t *seizing_since_ns; /* when a PTRACE_SEIZE began that has not returned */
    _Atomic int64_t *holding_since_ns; /* since when some thread has been held without a break */
    /* Called by tracer_reap(), and so also in SIGCHLD's handler: no allocation, no stdio.  TAG 0:
     * the thread was not asked to stop. */
    /* A thread is held.  True: let it go now.  False: keep it until tracer_release_held(). */
    bool (*stopped)(void *ctx, const struct stop *stop);
    /* A thread was let go. */
    void (*released)(void *ctx, uint64_t tag, const struct hold *hold);
    /* A thread ended before it stopped. */
    void (*gone)(void *ctx, uint64_t tag);
    /* A child of wallspy, or a thread that was attached, ended with STATUS (waitpid(2)). */
    void (*child)(void *ctx, pid_t pid, int status);
};

/* Installs SIGCHLD's handler and blocks the signal.  HANDLER is copied. */
struct tracer *tracer_new(const struct tracer_handler *handler);
/* Asks thread TID of process PID to stop, by PTRACE_SEIZE and PTRACE_INTERRUPT.  RENEW: a call that
 * would go on as restart_syscall(2), which a seccomp filter may forbid, is to begin anew instead.
 * Returns 0; -EALREADY: TID is asked already; -ESRCH: it is gone; -EPERM: refused, or another
 * tracer has it; -ETIMEDOUT: an execve of its process lasted until tracer_interrupt_seize(); or
 * what ptrace(2) says. */
int tracer_request(struct tracer *t, pid_t pid, pid_t tid, uint64_t tag, bool renew);
/* From another thread: ends a PTRACE_SEIZE in which thread SAMPLER waits. */
void tracer_interrupt_seize(pthread_t sampler);
/* Reaps all threads that have an answer, without waiting. */
void tracer_reap(struct tracer *t);
/* Reaps in a loop until TID's request is answered, for NS nanoseconds at most.  Returns whether it
 * is. */
bool tracer_poll(struct tracer *t, pid_t tid, int64_t ns);
/* Sleeps until UNTIL_NS (CLOCK_MONOTONIC), and reaps meanwhile.  Returns early, and true, when
 * WAKE_FD becomes readable; −1: no such descriptor. */
bool tracer_sleep(struct tracer *t, int64_t until_ns, int wake_fd);
/* Since SINCE_NS (CLOCK_MONOTONIC; 0: no longer) the caller does something during which no stop is
 * heard of, and which may not end: *holding_since_ns says so. */
void tracer_hears_nothing(struct tracer *t, int64_t since_ns);
/* How many threads were asked to stop and have not been let go. */
uint32_t tracer_pending(const struct tracer *t);
/* How many of these are held. */
uint32_t tracer_held(const struct tracer *t);
void tracer_release_held(struct tracer *t);
/* Withdraws the request for TID, whose thread has ended: an execve gives the tid to another thread.
 * If TID stops all the same it is let go at once. */
void tracer_forget(struct tracer *t, pid_t tid);
/* Withdraws the request for TID, which may be traced all the same, as a process's tid after an
 * execve.  If it is, it is pending without a tag until it has stopped. */
void tracer_expect(struct tracer *t, pid_t tid);
/* Waits for pending threads, for MOST_NS at most, and lets them go as they stop. */
void tracer_await_pending(struct tracer *t, int64_t most_ns);
/* Returns NULL.  Threads that are pending still are released by the kernel when the calling thread
 * ends. */
struct tracer *tracer_free(struct tracer *t);
