/* A profile that is kept in a file, and made anew of it: what has no list of its own elsewhere, and
 * what is final and stays as it is. */
#pragma once

#include "profile/profile.h"

/* When the profile's time 0 was, by two clocks; 0: unknown. */
struct profile_origin {
    int64_t utc_ns;       /* since 1970 */
    int64_t monotonic_ns; /* clock_now_ns() */
};
void profile_set_origin(struct profile *p, const struct profile_origin *origin);
const struct profile_origin *profile_origin(const struct profile *p);

uint32_t profile_module_count(const struct profile *p); /* ids run from 1 to this; so the next */
uint32_t profile_func_count(const struct profile *p);
const struct lock_name *profile_lock_names(const struct profile *p, size_t *ret_n);
const struct listener *profile_listeners(const struct profile *p, size_t *ret_n);
/* Appends RUN, joined to none. */
void profile_append_run(struct profile *p, thread_id id, const struct run *run);
void profile_set_exact_time(struct profile *p, const struct exact_time *e);
size_t profile_limit(const struct profile *p); /* profile_new()'s */
