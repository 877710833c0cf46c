/* The first line of a report: who is elsewhere, or that none stands out. */
#pragma once

#include "fleet/fleet_words.h"

/* Appends it, without its end, of at most WIDTH columns. */
void headline_add(const struct fleet *f, const struct verdict *v, size_t width, struct text *out);
