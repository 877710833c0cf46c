/* What a recording was made on, in words: the machine, and each process's limits, libraries and
 * variables.  The file has the same in "machine" and "processes". */
#pragma once

#include "summary/groups.h"

/* Appends lines of at most WIDTH columns, but for single words that are longer. */
void environment_write(const struct groups *g, int width, struct text *out);
