/* Processes that another one starts one after the other: commands, a worker for each item. */
#pragma once

#include "profile/profile.h"

struct commands {
    size_t n;       /* that began and ended during the recording */
    int64_t ns;     /* for how long they lived, in all */
    size_t lasting; /* others, that lived for most of it */
};
/* The recorded children of PARENT. */
struct commands commands_of(const struct profile *p, process_id parent);
/* Is T the main thread of one of them? */
bool commands_has(const struct profile *p, const struct profile_thread *t, process_id parent);
/* Is PARENT's time theirs, one after the other?  Who starts them is no launcher, then: no other
 * process lives for as long as the work goes on. */
bool commands_in_turn(const struct profile *p, const struct commands *c);
