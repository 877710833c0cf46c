/* Runs of one time line, joined where that loses least: pure, in the caller's array. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/exact_time.h"
#include "profile/profile.h"

/* Adds NEXT's time and counts to LAST. */
void run_join(struct run *last, const struct run *next);
/* Does NEXT go on where LAST ends, with the same spot and state? */
bool run_goes_on(const struct run *last, const struct run *next);

/* Joins those of the N RUNS, by time, that lie within one step of STEP_NS > 0 and have spot and
 * state in common; in each step they stand in the order in which each of them first came.  A run
 * that goes on into the next step stays as it is.  All sums stay exact, and nothing moves by
 * STEP_NS or more.  Returns how many are left, in the beginning of RUNS.  INT64_MAX: all of them,
 * which then need not be by time. */
size_t runs_join(struct run *runs, size_t n, int64_t step_ns);
/* The same where E has no exact time; elsewhere they stay as they are. */
size_t runs_coarsen(struct run *runs, size_t n, const struct exact_time *e);
