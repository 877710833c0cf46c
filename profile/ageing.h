/* A profile that keeps the last part of its time (--ring).  What is older is kept as sums, in no
 * order, so that what the kernel counted still fits, until profile_cut() takes it away.  Older
 * marks of the user's go. */
#pragma once

#include <stdint.h>

struct profile;

/* From now on the last NS are kept, more than 0.  Number METRIC_RING_S says so. */
void profile_keep_last(struct profile *p, int64_t ns);
/* What is kept; less than was asked for where there is no room for that.  0: all. */
int64_t profile_kept_ns(const struct profile *p);
/* NOW_NS of P's time have passed: call it now and then. */
void profile_age(struct profile *p, int64_t now_ns);
