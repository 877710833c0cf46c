/* A name that fits into a column: it loses parts from the outside in, so that the distinct part
 * stays. */
#pragma once

#include "base/text.h"

/* Appends NAME, a part of a call path ("ns::Worker<int>::run(int) worker.cc:12", "[read /a/b/c]"),
 * in at most COLUMNS ≥ 8.  It loses its arguments first, then outer namespaces, then its place,
 * then the beginning of what is left. */
void short_name_add(struct text *out, const char *name, size_t columns);
/* Appends LABEL, which names threads ("8 x parse-*", "rank1 ns::Pool::run 17001"), in at most
 * COLUMNS ≥ 15.  The name in it loses outer namespaces, then its end; numbers stay. */
void short_label_add(struct text *out, const char *label, size_t columns);
