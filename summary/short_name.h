/* A name that fits into a column: it loses parts from the outside in, so that the distinct part
 * stays. */
#pragma once

#include "base/text.h"

/* Appends NAME, a part of a call path ("ns::Worker<int>::run(int) worker.cc:12", "[read /a/b/c]"),
 * in at most COLUMNS ≥ 8.  It loses its arguments first, then outer namespaces, then its place,
 * then the beginning of what is left. */
void short_name_add(struct text *out, const char *name, size_t columns);
/* What of a label stays whole where there is no room for all: HEAD bytes in front ("8 x ", "70
 * ended: ", "rank1 ") and TAIL behind (" 6823").  BRIEF: the label in shorter words ("rank0, 2, 3
 * main"), owned by whoever has it; NULL: there are none. */
struct label_shape {
    size_t head, tail;
    char *brief;
};
/* Appends LABEL, which names threads ("8 x parse-*", "rank1 ns::Pool::run 17001"), in at most
 * COLUMNS ≥ 15.  The name in it loses outer namespaces, then its end. */
void short_label_add(struct text *out, const char *label, const struct label_shape *shape,
                     size_t columns);
