/* The sampler: one thread that visits every thread of the target on an absolute time grid and says,
 * into a ring, where each is.  What has not run since is not looked at again, what is off the CPU
 * is read without a stop, what runs is held for some 50 µs, most of it the kernel's.  docs/sampling.md tells
 * why and how well, docs/performance.md what it costs.
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
#include "sampler/filter.h"
#include "sampler/ring.h"
#include "target/mem.h"

struct sampler;

/* What else must be read while a thread cannot move.  Called on the sampler's thread. */
struct capture_hook {
    void *ctx;
    /* Once a tick, nothing held: may read LIVE and allocate.  True: there is more to do, at the next call;
     * whoever stopped meanwhile is captured and let go before. */
    bool (*tick)(void *ctx, struct mem *live);
    /* The thread is held or off the CPU: reads through RECORDING, allocates nothing.  NS_TID: its
     * id in its own pid namespace; FS_BASE 0: unknown.  Fills ANNEX (of the snapshot,
     * SNAPSHOT_ANNEX_WORDS), returns the words. */
    uint32_t (*capture)(void *ctx, struct mem *recording, pid_t ns_tid, uint64_t fs_base,
                        uint64_t *annex, bool *ret_incomplete);
    /* What the last capture recorded is thrown away, since the thread moved. */
    void (*undo)(void *ctx);
    /* Is it a Python thread, as of the last tick?  For --thread python|native. */
    bool (*is_python)(void *ctx, pid_t ns_tid);
    /* Nothing held: what Python calls it, if it does not tell the kernel, appended to NAME.  May read live memory
     * and allocate.  False: not known, or not yet.  For --thread's globs. */
    bool (*name)(void *ctx, pid_t ns_tid, struct text *name);
};

struct sampler_config {
    double rate_hz;
    double
        max_held; /* share of time a running thread may be held; the rate is lowered to keep it */
    double max_cpus;  /* that wallspy may take, in CPUs' time; the same; 0: any */
    bool no_stop;     /* never hold a thread */
    bool single_shot; /* one whole stack of every thread, then finish (dump) */
    bool freeze; /* single shot: hold all threads together, for 5 ms at most; those whose system
                    call would fail are read without a stop */
    struct thread_filter filter; /* borrowed strings */
};

/* Nothing happens before sampler_start(). */
struct sampler *sampler_new(const struct sampler_config *config);
/* Watches process PID, whose threads are sampled from the start on.  LIVE: its memory, borrowed.
 * Returns its number (0, 1, …), or -EPERM/-ESRCH/-ENOENT (no /proc/PID/syscall) with ERR. */
int sampler_add(struct sampler *s, pid_t pid, struct mem *live, struct err *err);
/* Any thread, any time: from the next tick on captures of PROCESS use HOOK (NULL: none), which must
 * live until the sampler is freed, or has told of an execve of PROCESS later than HOOK was dropped. */
void sampler_set_hook(struct sampler *s, uint32_t process, const struct capture_hook *hook);
/* Takes HOOK away if it is still set; it may be in use until the next tick. */
void sampler_drop_hook(struct sampler *s, uint32_t process, const struct capture_hook *hook);
/* From here on the calling thread keeps SIGCHLD blocked: taken there, it would not wake the sampler for a
 * thread that has stopped.  Do not unblock it. */
int sampler_start(struct sampler *s, struct err *err);
/* Asks the thread to end; async-signal-safe; returns at once. */
void sampler_stop(struct sampler *s);
/* Any thread: since when the sampler's thread *RET_TID holds one of the target without a break
 * (clock_now_ns()); 0: it does not. */
int64_t sampler_holding_since_ns(const struct sampler *s, pid_t *ret_tid);
/* Any thread: makes sampler_fd() readable. */
void sampler_wake_worker(const struct sampler *s);
/* In a child process, where the sampler's thread is not: the sampling ended just now.  A thread
 * of the target is let go by the end of the parent's thread. */
void sampler_abandon(struct sampler *s);
/* To be called now and then, at least each second: ends a PTRACE_SEIZE that waits for an execve that hangs, for which
 * the sampler would wait, too, and all that wait for it.  Returns at once. */
void sampler_hurry(struct sampler *s);
/* Asks for what is otherwise told only when it is over: for how long the present samples have held so
 * far (MESSAGE_STILL), then MESSAGE_TOLD.  Nothing comes any more once the sampler is done. */
void sampler_tell(struct sampler *s);
/* Lets everything go and does nothing more until sampler_resume(), so that wallspy may be stopped.  False,
 * after a third of a second at most: some thread that was asked to stop has not yet.  It is wanted still, and no tick is
 * made: call again, or sampler_stop(). */
bool sampler_pause(struct sampler *s);
void sampler_resume(struct sampler *s);
/* True once the sampler's thread has ended: its last messages are in the ring, and it traces nobody.  It ends by itself
 * when all processes have. */
bool sampler_done(struct sampler *s);
/* Any thread: true, and *RET_STATUS (waitpid(2)), once child PID of wallspy's own has ended. */
bool sampler_child_status(const struct sampler *s, pid_t pid, int *ret_status);
struct ring *sampler_ring(struct sampler *s); /* the caller is its consumer */
/* Becomes readable at the end of a tick that put something into the ring, until sampler_drain(). */
int sampler_fd(const struct sampler *s);
void sampler_drain(struct sampler *s);
struct feedback *sampler_feedback(struct sampler *s);
const struct sampler_counters *sampler_counters(const struct sampler *s);
double sampler_rate_hz(const struct sampler *s); /* as it is now: asked, or lowered */
/* The largest share of five seconds for which any thread was held. */
double sampler_worst_share(const struct sampler *s);
uint32_t sampler_task_count(const struct sampler *s);
/* Ends the thread if it runs: everything pending is let go. */
struct sampler *sampler_free(struct sampler *s);
