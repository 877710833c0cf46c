/* When frames are named: what long recordings met so far while they go on, what is left at the end.  What waits at the end
 * are debug files, opening which is five sixths of all naming; so they are not opened often either. */
#pragma once

#include "worker/subject.h"

struct names {
    struct naming_go *go; /* NULL: none */
    int64_t next_ns;      /* when to begin the next, of the recording's time */
    uint64_t frames;      /* named before the end */
};

/* Cheap when called often; RUNNING_NS since the recording began. */
void names_ahead(struct names *n, struct subject *const *subjects, size_t count,
                 int64_t running_ns);
/* Names what has no name yet.  ON_PROGRESS: see symbolizers_run(). */
void names_finish(struct names *n, struct subject *const *subjects, size_t count,
                  bool (*on_progress)(void *ctx, double share), void *ctx);
/* In a child process, where a thread that names is not: it is done anew. */
void names_abandon(struct names *n);
/* Before the subjects are freed. */
void names_end(struct names *n);
