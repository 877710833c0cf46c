/* Two that wait for each other at two pipes or sockets, one of which is full: whoever reads one of
 * them to its end, before the other, is caught so. */
#pragma once

#include "summary/rules.h"

/* Adds " For 71% of that time each waits for the other: …" where GROUP's waits, WAITS, are for
 * OTHER, which waits for GROUP's processes meanwhile, and one of the two is in a call that sends.
 * Of idle partners both read. */
void add_mutual(const struct scene *s, const struct thread_group *group,
                const struct thread_group *other, const struct intervals *waits,
                struct text *words);
