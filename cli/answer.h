/* The closing table as text: columns, wrapping and cutting for a terminal's width. */
#pragma once

#include "base/text.h"
#include "summary/table.h"

enum { ANSWER_MAX_ROWS = 8, ANSWER_MIN_WIDTH = 60 };
/* Appends T to OUT, every line at most WIDTH (≥ ANSWER_MIN_WIDTH) columns, each with a newline;
 * nothing without rows. */
void answer_write(const struct table *t, int width, struct text *out);
