/* What a thread did when it was asked to stop.  It was looked at shortly before, and it stops shortly after: in between it
 * may have gone on.  Private to sampler/. */
#pragma once

#include "sampler/task.h"
#include "sampler/tracer.h"

/* T is held: corrects its requested_state by where it stopped.  Returns whether it had fallen asleep, if it was ever off
 * its CPU since the request: stop_state_settle() knows. */
bool stop_state_judge(struct task *t, const struct stop *stop);
/* T is not held any more, and NOW has its counts: returns the state that SNAPSHOT is of, as far as it was open. */
enum thread_state stop_state_settle(const struct task *t, const struct snapshot *snapshot,
                                    const struct schedstat *now, bool fell_asleep);
