/* When frames are named: in long recordings also while they go on, and the rest at the end, while
 * the user waits.  Five sixths of all naming is to open debug files, so the jobs are few. */
#pragma once

#include "worker/target_process.h"

struct naming_schedule {
    struct naming_job *job; /* NULL: none */
    int64_t next_ns;        /* when to begin the next job, of the recording's time */
    uint64_t frames;        /* named before the end */
};

/* Cheap when called often; RUNNING_NS since the recording began. */
void naming_schedule_ahead(struct naming_schedule *n, struct target_process *const *processes,
                           size_t count, int64_t running_ns);
/* Names what has no name yet.  ON_PROGRESS: see symbolizers_run(). */
void naming_schedule_finish(struct naming_schedule *n, struct target_process *const *processes,
                            size_t count, bool (*on_progress)(void *ctx, double share), void *ctx);
/* In a child process, where a thread that names is not: it is done anew. */
void naming_schedule_abandon(struct naming_schedule *n);
/* Before the processes are freed. */
void naming_schedule_end(struct naming_schedule *n);
