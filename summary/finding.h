/* The closing table: what the recording says, for a terminal (interface.md "Terminal").
 *
 * Who comes first: the main thread, since its wait is what the user sees; then the threads by time
 * on a CPU, waiting for one, or blocked in an unusual place (summary/survey.h), so that the worker
 * that sits in a driver is next to the main thread that waits for it, although neither uses a CPU;
 * idle threads last.  Threads of one name, but for numbers, whose biggest path is the same are one
 * row, which has its place by their sum: percentages are then of the sum of their wall times.  The biggest path is the one with most
 * wall time after shortening (summary/short_path.h), so that the ways through libc to one wait are
 * one path; its line is the one mostly seen. */
#pragma once

#include "base/text.h"
#include "profile/profile.h"
#include "summary/view.h"

enum { FINDING_MAX_ROWS = 8, FINDING_MIN_WIDTH = 60 };
/* Appends the table to OUT, every line at most WIDTH (≥ FINDING_MIN_WIDTH) columns, each with a newline; nothing
 * without threads.  Rows that do not fit are summed up in the last one. */
void finding_write(const struct profile *p, const struct view_options *options, int width,
                   struct text *out);
