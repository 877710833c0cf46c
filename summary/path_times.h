/* How long threads were in each path (paths.h), and in each function, by what they did meanwhile.
 * Weights, so that sums are the kernel's counts. */
#pragma once

#include "summary/paths.h"

enum path_time { PATH_WALL, PATH_RUN, PATH_WAIT_CPU, PATH_BLOCKED, PATH_TIMES };
struct times {
    int64_t ns[PATH_TIMES];
};
void times_add(struct times *sum, const struct times *t);

struct path_times {
    const struct paths *paths;  /* borrowed */
    struct times *self, *total; /* by path; 0: of no known stack */
};
void path_times_init(struct path_times *t, const struct paths *paths);
/* Adds all of THREAD's time to SELF. */
void path_times_add(struct path_times *t, const struct profile_thread *thread);
/* Sets TOTAL: a path's time with that of all that begin with it. */
void path_times_sum(struct path_times *t);
void path_times_release(struct path_times *t);

/* A function, its own time with that of its waits, and its time with what it calls; that of a
 * function that calls itself once. */
struct function_times {
    struct path_frame frame;
    struct times self, total;
};
/* The functions of T, which is summed up, by their own wall time.  The caller frees them. */
struct function_times *function_times_of(const struct path_times *t, size_t *ret_n);
