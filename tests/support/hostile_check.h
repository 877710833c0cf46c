/* Whatever others call their things: what wallspy writes stays what it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Writes a profile and a dump, once with NAMES, N of them, and once with harmless ones, in each
 * form.  JSON and XML must be well-formed, no text may hold what a terminal obeys, and no line may
 * be wider than it was asked to be.  ALIKE: both must have the same lines, fields, frames, numbers,
 * findings and rows.  Aborts where that does not hold.  DISTINCT as in hostile_stage_init(). */
void hostile_check(const char *const *names, size_t n, bool distinct, bool alike);
