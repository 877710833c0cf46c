/* What is known to be slow of others' code, and what is faster: rows of one table (known.c). */
#pragma once

#include "summary/rules.h"

/* " re compiles patterns for 97% of that: …": the row that most of the time of GROUP goes to, while
 * it runs or could run, if that is the row's least share.  Without one: " It makes 525,000 reads a
 * second: …", if that is so. */
void add_known(const struct scene *s, const struct thread_group *group, struct text *words,
               struct finding *f);
