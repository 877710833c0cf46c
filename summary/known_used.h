/* Which rows of what is known of others' code a recording has functions of, for -v and tests. */
#pragma once

#include "base/text.h"
#include "summary/known.h"

struct view;
/* By row of V's table, whether a frame of V is of it.  Rows of mere glue are left out: every stack
 * has some.  The caller frees it. */
bool *known_used(const struct view *v);
/* "_run_once asyncio/base_events.py", as the table has it. */
void known_add_row(struct text *out, const struct known_row *row);
/* Appends a line or more, of at most WIDTH columns, that name those rows, and of those built in the
 * ones that no recording of the real library was tried with.  Nothing if there are none. */
void known_write_used(const struct view *v, int width, struct text *out);
