/* The sampler: one thread that visits every thread of the target on an absolute time grid, and
 * emits where each is into a ring.
 *
 * A thread that has not run since its last sample is not read again.  A thread off the CPU is read
 * without a stop.  A thread that runs is held for some 50 µs, most of them the kernel's.
 * docs/sampling.md has the reasons, docs/performance.md the costs.
 *
 * All calls from the thread that made the sampler, unless they say otherwise. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"
#include "sampler/counters.h"
#include "sampler/feedback.h"
#include "sampler/ring.h"
#include "sampler/thread_filter.h"
#include "target/mem.h"

struct sampler;

enum { SAMPLER_MAX_PROCESSES = 10000 }; /* of one sampler, also those that have ended */

/* Reads more memory while a thread cannot move.  Called on the sampler's thread. */
struct capture_hook {
    void *ctx;
    /* Called at each tick, nothing held: may read LIVE and allocate.  True: there is more to do, in
     * another call; threads that stopped meanwhile are captured and let go before it. */
    bool (*tick)(void *ctx, struct mem *live);
    /* The thread is held or off the CPU: reads through RECORDING, allocates nothing.  NS_TID: its
     * id in its own pid namespace; FS_BASE 0: unknown.  Fills the snapshot's HOOK_WORDS, of which
     * there are SNAPSHOT_HOOK_WORDS, and returns how many. */
    uint32_t (*capture)(void *ctx, struct mem *recording, pid_t ns_tid, uint64_t fs_base,
                        uint64_t *hook_words, bool *ret_incomplete);
    /* The thread moved: what the last capture recorded is thrown away. */
    void (*undo)(void *ctx);
    /* Was NS_TID a Python thread at the last tick?  For --thread python|native. */
    bool (*is_python)(void *ctx, pid_t ns_tid);
    /* Appends to NAME what Python calls the thread, where the kernel does not know that name.
     * Nothing held: may read live memory and allocate.  False: not known, or not yet.  For
     * --thread's globs. */
    bool (*name)(void *ctx, pid_t ns_tid, struct text *name);
};

struct sampler_config {
    double rate_hz;
    double max_held;      /* share of its time for which a running thread may be held; the rate is
                         lowered to keep it */
    double max_cpus;      /* CPUs that wallspy may take, kept in the same way; 0: any */
    bool no_stop;         /* never hold a thread */
    bool ends_with_first; /* done when the process that was added first has ended */
    bool single_shot;     /* one whole stack of every thread, then finish (dump) */
    bool looks_first;     /* single shot: ticks until sampler_stop(), and the shot after it */
    bool freeze; /* the shot holds all threads together, for 5 ms at most; those whose system
                         call would fail are read without a stop */
    struct thread_filter filter; /* borrowed strings */
};

/* Of the sampler's thread. */
enum sampler_priority {
    PRIORITY_USUAL, /* nice 0: none better is granted */
    PRIORITY_RAISED,
    PRIORITY_GIVEN_UP, /* for a while: the sampler took too much CPU time at it */
    PRIORITY_USERS,    /* the policy or nice that wallspy was given */
};

/* Does the kernel count how often threads run (CONFIG_SCHED_INFO)?  Reads wallspy's own count;
 * false with WALLSPY_NO_SCHEDSTAT=1.  From any thread. */
bool sampler_counts_runs(void);

/* Nothing happens before sampler_start(). */
struct sampler *sampler_new(const struct sampler_config *config);
/* Watches process PID, which began at START_TICKS (task_stat.start_ticks; 0: at any time).  Its
 * threads are sampled from the start, or if the sampler runs from the next tick.  LIVE: its memory,
 * borrowed until MESSAGE_PROCESS_END is read.  Returns its number (0, 1, …; never used again), or
 * -EPERM, -ESRCH, -ENOENT (no /proc/PID/syscall), -E2BIG with ERR. */
int sampler_add(struct sampler *s, pid_t pid, uint64_t start_ticks, struct mem *live,
                struct err *err);
/* Any thread, any time: from the next tick on captures of PROCESS use HOOK (NULL: none).  HOOK must
 * live until the sampler is freed, or has emitted PROCESS's end, or an execve of it after HOOK was
 * dropped. */
void sampler_set_hook(struct sampler *s, uint32_t process, const struct capture_hook *hook);
/* Takes HOOK away if it is still set; it may be in use until the next tick. */
void sampler_drop_hook(struct sampler *s, uint32_t process, const struct capture_hook *hook);
/* Starts the sampler's thread.  The calling thread keeps SIGCHLD blocked from here on and must not
 * unblock it: taken there, the signal would not wake the sampler for a thread that has stopped. */
int sampler_start(struct sampler *s, struct err *err);
/* Asks the sampler's thread to end.  Returns at once; async-signal-safe. */
void sampler_stop(struct sampler *s);
/* Any thread: since when (clock_now_ns()) the sampler's thread, *RET_TID, has held threads of the
 * target without a break; 0: it holds none. */
int64_t sampler_holding_since_ns(const struct sampler *s, pid_t *ret_tid);
/* Any thread: makes sampler_fd() readable. */
void sampler_wake_worker(const struct sampler *s);
/* In a child process, where the sampler's thread is not: ends the sampling as of now.  The end of
 * the parent's thread lets go what it holds. */
void sampler_abandon(struct sampler *s);
/* The same, but goes on: with a thread of its own, once the parent's has ended, and without the
 * process whose thread was held, which is left alone for a while.  Returns that process, and for
 * how long; 0: it cannot go on (a single shot; the parent alone may trace the process; it was asked
 * to end; no thread can be started). */
pid_t sampler_go_on(struct sampler *s, int64_t *ret_ns);
/* Call it at least once a second: ends a PTRACE_SEIZE that waits for an execve that hangs.
 * Otherwise the sampler would wait as long, and so would all threads that wait for the sampler.
 * Returns at once. */
void sampler_interrupt_seize(struct sampler *s);
/* Has the sampler emit for how long the present samples have held so far (MESSAGE_EXTENDED), which
 * else comes with each next sample; MESSAGE_FLUSHED follows.  Nothing comes once the sampler is
 * done. */
void sampler_flush(struct sampler *s);
/* Lets all threads go and does nothing until sampler_resume(), so that wallspy may be stopped.
 * False, after a third of a second: a thread that was asked to stop has not stopped yet.  No tick
 * is made meanwhile: call again, or sampler_stop(). */
bool sampler_pause(struct sampler *s);
void sampler_resume(struct sampler *s);
/* After sampler_pause() has returned true: only sampler_end_pause() goes on from here, not
 * sampler_resume() or sampler_fork_end(). */
void sampler_stay_paused(struct sampler *s);
/* Goes on as if the sampling began here: no tick counts as late, and threads that began meanwhile
 * are as those that were there at the start. */
void sampler_end_pause(struct sampler *s);
/* Around a fork whose child does not sample: the same, and no hold is longer for it later.  False:
 * some thread has not stopped yet; the sampling goes on, and sampler_fork_end() is not to be
 * called. */
bool sampler_fork_begin(struct sampler *s);
void sampler_fork_end(struct sampler *s);
/* Has the sampler's thread ended?  Its last messages are in the ring then, and it traces nobody.
 * It ends by itself when all processes have. */
bool sampler_done(struct sampler *s);
/* Any thread: has wallspy's own child PID ended?  Then *RET_STATUS is as of waitpid(2). */
bool sampler_child_status(const struct sampler *s, pid_t pid, int *ret_status);
struct ring *sampler_ring(struct sampler *s); /* the caller is its consumer */
/* Readable from the end of a tick that emitted something until sampler_drain(). */
int sampler_fd(const struct sampler *s);
void sampler_drain(struct sampler *s);
struct feedback *sampler_feedback(struct sampler *s);
const struct sampler_counters *sampler_counters(const struct sampler *s);
double sampler_rate_hz(const struct sampler *s); /* as it is now: as asked, or lowered */
/* The largest share of five seconds for which any thread was held, and that any lost to that. */
double sampler_worst_held(const struct sampler *s);
double sampler_worst_lost(const struct sampler *s);
uint32_t sampler_thread_count(const struct sampler *s);
/* Any thread: how the sampler's thread is scheduled now. */
enum sampler_priority sampler_priority(const struct sampler *s, int *ret_nice);
/* Ends the sampler's thread if it runs, and lets all pending threads go. */
struct sampler *sampler_free(struct sampler *s);
