/* The first line of a report: who is elsewhere, or that none stands out. */
#pragma once

#include "fleet/fleet_words.h"

/* Appends it, without its end, of at most WIDTH columns. */
void headline_add(const struct fleet *f, const struct verdict *v, size_t width, struct text *out);
/* Appends where class I is, at the function where its way parts from that of the others, and what
 * it does there: "load_batch train.py:5, in read of /data/x".  Of at most COLUMNS. */
void headline_add_class(const struct fleet *f, const struct verdict *v, size_t i, size_t columns,
                        struct text *out);
