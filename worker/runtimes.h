/* The libraries of a process that decide how it gets memory and threads, by its maps: its allocator
 * and its OpenMP runtimes.  It does not see libraries that are linked statically. */
#pragma once

#include "base/text.h"
#include "profile/profile.h"
#include "target/maps.h"

struct runtimes {
    struct text allocator; /* "glibc", "jemalloc (preloaded)"; empty: unknown */
    struct text openmp;    /* "libgomp, libiomp5"; empty: none */
};
/* ENVIRONMENT: what is kept of the process's.  The caller releases the texts. */
void runtimes_find(const struct maps *maps, const char *environment, struct runtimes *ret);
/* Puts them into the profile. */
void runtimes_report(struct profile *p, process_id id, const struct maps *maps);
