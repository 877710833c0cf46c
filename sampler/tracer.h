/* Asking threads to stop, and letting them go.  Together with launch.c the only code that calls
 * ptrace(2) and waitpid(2).
 *
 * A stop is a request, not a wait: tracer_request() returns at once, and the thread is handed out
 * by tracer_reap() when it has stopped, whenever that is.  Whoever is handed out is released before
 * the call returns.  While a request is out, SIGCHLD's handler reaps too, also in the middle of
 * another PTRACE_SEIZE: a vfork parent that cannot stop, plus a sibling's execve, plus our SEIZE
 * would else wait for each other for ever, and a traced thread that died must be reaped before its
 * process can end.
 *
 * All calls from one thread, the sampler's; that thread keeps SIGCHLD blocked but inside these
 * calls, all other threads keep it blocked always.  Source: ptrace(2), kernel/ptrace.c,
 * kernel/signal.c. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/snapshot.h"

struct tracer;

/* A thread that stopped and is held: until the handler returns, or longer if it says so. */
struct stop {
    pid_t tid;
    uint64_t tag; /* as given to tracer_request() */
    struct regs regs;
    uint64_t fs_base;
    int64_t syscall;   /* its number; −2: it was not in the kernel */
    bool registers_ok; /* false: they could not be read (it was killed meanwhile) */
    bool job_stopped;  /* by SIGSTOP and the like; stays so after the release */
    bool restarting;   /* a system call was interrupted by this stop and will be restarted */
    bool repaired;     /* its result −EINTR was set to −ERESTARTNOHAND */
    bool renewed;      /* so was its result that would have led to restart_syscall(2) */
    bool undone;       /* it begins anew from its start, for whoever serves it */
    bool perturbed;    /* −EINTR of a call that must not be repeated: the program will see it */
    bool cut;          /* a call had done less than it was asked for, likely for this stop */
    int64_t
        stopped_ns; /* its registers have been read, so it is off its CPU (wait_task_inactive) */
};

struct tracer_handler {
    void *ctx;
    _Atomic int64_t
        *seizing_since_ns; /* of a PTRACE_SEIZE that has not returned (CLOCK_MONOTONIC); 0: none */
    _Atomic int64_t
        *holding_since_ns; /* that some thread has been held without a break; 0: none is */
    /* Thread held: no allocation, no stdio.  May run inside a signal handler (of this thread).
     * True: let it go now.  False: keep it until tracer_release_held().  A stop without a tag was not asked for. */
    bool (*stopped)(void *ctx, const struct stop *stop);
    /* Released; HELD_NS: for how long it did not run because of us, as near as can be told.  TAG 0, here and below: nobody's. */
    void (*released)(void *ctx, uint64_t tag, uint32_t held_ns);
    /* It ended, or was never ours any more, before it stopped. */
    void (*gone)(void *ctx, uint64_t tag);
    /* A child of wallspy itself, or a thread that was attached, ended; STATUS as of waitpid(2). */
    void (*child)(void *ctx, pid_t pid, int status);
};

/* Call on the sampler's thread: installs the SIGCHLD handler and blocks the signal.  HANDLER is
 * copied. */
struct tracer *tracer_new(const struct tracer_handler *handler);
/* PTRACE_SEIZE and PTRACE_INTERRUPT for a thread of process PID.  RENEW: a call that would go on
 * as restart_syscall(2) is to begin anew instead, since a seccomp filter may not allow that. 
 * Returns 0; -EALREADY: a request for it is out; -ESRCH: gone; -EPERM: refused, or another tracer
 * has it; -ETIMEDOUT: an execve of its process took until tracer_hurry(); or what ptrace says. */
int tracer_request(struct tracer *t, pid_t pid, pid_t tid, uint64_t tag, bool renew);
/* From another thread: ends a PTRACE_SEIZE of thread SAMPLER that waits. */
void tracer_hurry(pthread_t sampler);
/* Handles all there is to reap, without waiting. */
void tracer_reap(struct tracer *t);
/* Reaps for at most NS nanoseconds, spinning, until TID is no longer asked to stop.  True: it is
 * not. */
bool tracer_poll(struct tracer *t, pid_t tid, int64_t ns);
/* Sleeps until UNTIL_NS (CLOCK_MONOTONIC), reaping as things happen.  Returns early, and true, when WAKE_FD ≥ 0 becomes
 * readable. */
bool tracer_sleep(struct tracer *t, int64_t until_ns, int wake_fd);
/* Threads asked that have not been let go yet. */
uint32_t tracer_pending(const struct tracer *t);
uint32_t tracer_held(const struct tracer *t); /* those of them that are kept */
void tracer_release_held(struct tracer *t);
/* Drops the request for TID, which exists no more (execve gives its tid to another thread).  A stop
 * that comes all the same is let go at once. */
void tracer_forget(struct tracer *t, pid_t tid);
/* The same where TID may be ours all the same, as the one of a process after an execve: if so it has yet to stop, and is
 * pending until it has, without a tag. */
void tracer_expect(struct tracer *t, pid_t tid);
/* Waits a little for pending threads, and lets them go as they stop. */
void tracer_settle(struct tracer *t);
/* The kernel releases pending threads when the thread that called tracer_new() ends.  Returns NULL. */
struct tracer *tracer_free(struct tracer *t);
