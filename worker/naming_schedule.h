/* When frames are named: in long recordings also while they go on, and the rest at the end, while
 * the user waits.  Five sixths of all naming is to open debug files, so the jobs are few. */
#pragma once

#include "symbolizer/symbolizer.h"
#include "worker/target_process.h"

struct naming_schedule {
    struct sampler *sampler; /* rests while a job is forked */
    struct naming_job *job;  /* NULL: none */
    int64_t next_ns;         /* when to begin the next job, of the recording's time */
    uint64_t frames;         /* named before the end */
    struct name_faults faults;
};

/* Cheap when called often; RUNNING_NS since the recording began. */
void naming_schedule_ahead(struct naming_schedule *n, struct target_process *const *processes,
                           size_t count, int64_t running_ns);
/* Names what has no name yet, and reports to PROFILE.  ON_PROGRESS: see symbolizers_run(). */
void naming_schedule_finish(struct naming_schedule *n, struct profile *profile,
                            struct target_process *const *processes, size_t count,
                            bool (*on_progress)(void *ctx, double share), void *ctx);
/* Before the processes are freed. */
void naming_schedule_release(struct naming_schedule *n);
