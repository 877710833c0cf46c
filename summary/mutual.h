/* Two that wait for each other: at two pipes or sockets, one of which is full, as whoever reads one
 * of them to its end, before the other, is caught; or one of them for a file's lock. */
#pragma once

#include "summary/rules.h"

/* Whose waits are for GROUP's processes, while GROUP's, WAITS, are for OTHER's: OTHER, or another
 * group of its process.  One of the two is in a call that sends, or waits for a file's lock: of
 * idle partners both read.  NULL: there is none. */
struct thread_group *mutual_of(const struct scene *s, const struct thread_group *group,
                               struct thread_group *other, const struct intervals *waits);
/* Adds " For 71% of that time each waits for the other: …", of GROUP and its mutual_of(), OTHER. */
void add_mutual(const struct scene *s, const struct thread_group *group,
                const struct thread_group *other, const struct intervals *waits,
                struct text *words);
