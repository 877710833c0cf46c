/* The answer in a few lines, for a reader that pays by the word: wallspy report --brief. */
#pragma once

#include "base/text.h"
#include "summary/findings.h"

enum {
    BRIEF_LINES = 12,        /* in all */
    BRIEF_QUALITY_LINES = 3, /* of them the last ones, at most */
    BRIEF_COLUMNS = 79,
};
/* Appends what F and G say, in LINES (8 or more) of at most BRIEF_COLUMNS: the findings, then a
 * line for each of the heaviest groups of threads.  Sentences that find no room end in "…". */
void brief_add(const struct groups *g, const struct findings *f, size_t lines, struct text *out);
/* Appends WORDS, "wallspy: quality …", in at most LINES, which end in "…" where they are too
 * few. */
void brief_add_line(const char *words, size_t lines, struct text *out);
/* How many lines brief_add_line() adds. */
size_t brief_lines_of(const char *words, size_t lines);
