/* The worker's side of a recording: takes the sampler's messages out of the ring and keeps the
 * profile. Shared by record and dump. */
#pragma once

#include "profile/profile.h"
#include "sampler/sampler.h"
#include "worker/stack_builder.h"
#include "worker/target_process.h"
#include "worker/timeline.h"

struct recording;

struct recording_config {
    struct sampler_config sampler;
    struct stack_options stacks;
    uint64_t max_bytes; /* of the profile; 0: any */
    int64_t keep_ns;    /* the last part of the time that the profile keeps; 0: all */
    bool follow;        /* record the children, and theirs, too */
    /* Asked between two pieces of work, may be NULL.  True, once: this process was forked to go on
     * alone, and has no other thread. */
    bool (*has_left)(void);
};

/* CONFIG is copied. */
struct recording *recording_new(const struct recording_config *config);
/* Adds process PID, before the start.  Returns 0, or -ESRCH, -EPERM, -ENOENT with ERR. */
int recording_add(struct recording *r, pid_t pid, struct err *err);
/* Reads maps, looks for Python, and starts to sample. */
int recording_start(struct recording *r, struct err *err);
/* Adds the children that were born since, if the config wants them.  Call it at least every 10
 * ms then, between any two other calls.  Returns whether there were any. */
bool recording_follow(struct recording *r);
/* Handles what is in the ring, and sees to maps and Python.  Returns false if there was nothing. */
bool recording_work(struct recording *r);
/* The same; where there is nothing it waits for it, MOST_MS at most. */
void recording_work_or_wait(struct recording *r, int most_ms);
/* How long the next messages may lie in the ring, so that several ticks are handled at one wake; 0:
 * not at all. */
int64_t recording_batch_ns(const struct recording *r);
/* When recording_work() has something to do without a message (clock_now_ns()): it still looks for
 * the other side of a wait.  INT64_MAX: nothing. */
int64_t recording_due_ns(const struct recording *r);
/* Ends the sampling and handles what is left; then names all frames, as long as ON_PROGRESS, which
 * may be NULL, says to go on.  The profile is complete after it. */
void recording_finish(struct recording *r, bool (*on_progress)(void *ctx, double share), void *ctx);

/* Leaves the target alone and stops the profile's time until recording_resume(): what happens
 * meanwhile is in no number.  False: a thread that was asked to stop has not stopped yet; nothing
 * is sampled, call again.  True also where it is paused already. */
bool recording_pause(struct recording *r);
void recording_resume(struct recording *r); /* nothing where it is not paused */
/* For how long it is paused now; −1: it is not. */
int64_t recording_paused_ns(const struct recording *r);
/* Where the profile's time is now; it stands still in a pause. */
int64_t recording_running_ns(const struct recording *r);

/* Brings the profile up to now, frames named, so that it can be written while the recording goes
 * on.  Until recording_snapshot_over() new messages are kept, and the profile stays as it is. */
void recording_snapshot(struct recording *r);
void recording_snapshot_over(struct recording *r);
/* Brings the facts of the profile up to now, but not its names and time lines, for who keeps it
 * while it grows.  It looks at each process. */
void recording_tell(struct recording *r);
struct sampler *recording_sampler(struct recording *r);
struct profile *recording_profile(struct recording *r);
struct waits *recording_waits(struct recording *r);
struct process_set; /* worker/process_set.h */
const struct process_set *recording_processes(const struct recording *r);
int64_t recording_elapsed_ns(const struct recording *r); /* from the start to the last message */
/* The largest shares of its time for which one thread was held, and which one lost to that. */
struct hold_shares {
    double held, lost;
};
struct hold_shares recording_shares(const struct recording *r);
/* Called for every sample with a stack, as it comes (dump); MESSAGE and STACKED only for the
 * call. */
void recording_on_sample(struct recording *r,
                         void (*each)(void *ctx, thread_id thread, const struct sample_message *m,
                                      const struct built_stack *s),
                         void *ctx);
struct recording *recording_free(struct recording *r);
