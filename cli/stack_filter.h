/* The stacks that --include and --exclude leave in the tables of a report. */
#pragma once

#include "cli/options.h"
#include "summary/paths.h"

/* By path of PATHS, of V: is it shown?  0, no stack, is unless one is asked for.  A pattern is a
 * glob on the name of a frame, on its file, or on its module, each with the folder or without.
 * NULL: all are.  The caller frees it. */
bool *stack_filter_paths(const struct options *o, const struct view *v, const struct paths *paths);
