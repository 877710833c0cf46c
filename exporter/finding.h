/* The closing table: what the recording says, for a terminal (interface.md "Terminal").  Threads
 * that do the same grouped, the culprit first even where it used no CPU. */
#pragma once

#include "base/text.h"
#include "profile/profile.h"
#include "profile/view.h"

enum { FINDING_MAX_ROWS = 8 };
/* Appends the table to OUT, every line at most WIDTH columns, each with a newline. */
void finding_write(const struct profile *p, const struct view_options *options, int width,
                   struct text *out);
