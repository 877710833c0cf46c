/* What is known to be slow of others' code, and what is faster: rows of one table (known.c). */
#pragma once

#include "summary/rules.h"

/* Of a frame: bit by bit the rows that it is of, and those that no stack with it is of. */
struct known_frame {
    uint32_t rows, unless;
};
struct known_frames {
    struct known_frame *items; /* by the frame's id */
    uint32_t n, rows;          /* ROWS: of all */
};
/* Of all frames of V, each looked at once.  The caller frees its items. */
struct known_frames known_frames_new(const struct view *v);

/* " re compiles patterns for 97% of that: …": the row that most of the time of GROUP goes to, while
 * it runs or could run, if that is the row's least share.  Then: " It makes 525,000 reads a second:
 * …", if that is so.  OF: what its share is of, as the sentence has it: "that".  Returns
 * the row's share; 0: no row. */
double add_known(const struct scene *s, const struct thread_group *group, const char *of,
                 struct text *words, struct finding *f);
