/* The answer in a few lines, for a reader that pays by the word: wallspy report --brief. */
#pragma once

#include "base/text.h"
#include "summary/findings.h"

enum {
    BRIEF_LINES = 12,        /* in all */
    BRIEF_QUALITY_LINES = 2, /* of them the last ones */
    BRIEF_COLUMNS = 79,
};
/* Appends what F and G say, in lines of at most BRIEF_COLUMNS, as many as BRIEF_LINES leaves beside
 * the quality: the findings, then a line for each of the heaviest groups of threads.  Sentences
 * that find no room end in "…". */
void brief_add(const struct groups *g, const struct findings *f, struct text *out);
/* Appends LINE, "wallspy: quality …", in at most BRIEF_QUALITY_LINES. */
void brief_add_quality(const char *line, struct text *out);
