/* A profile that is kept in a file, and made anew of it: what has no list of its own elsewhere, and
 * what is final and stays as it is. */
#pragma once

#include "profile/profile.h"

uint32_t profile_module_count(const struct profile *p); /* ids run from 1 to this; so the next */
uint32_t profile_func_count(const struct profile *p);
const struct lock_name *profile_lock_names(const struct profile *p, size_t *ret_n);
/* Appends RUN, joined to none. */
void profile_append_run(struct profile *p, thread_id id, const struct run *run);
void profile_set_exact_time(struct profile *p, const struct exact_time *e);
