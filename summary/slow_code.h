/* Others' code that is known to be slow, with what is faster: the rows of known.def that say so. */
#pragma once

#include "summary/known.h"
#include "summary/rules.h"

enum { SLOW_WORDS = KNOWN_MOST_SLOW / 64 };
struct slow_set { /* of rows, bit by bit */
    uint64_t words[SLOW_WORDS];
};
/* Of a frame: the rows that it is of, and those that no stack with it is of.  The first row stands
 * for all that say the same. */
struct slow_frame {
    struct slow_set rows, unless;
};
struct slow_code {
    const struct known_row *rows[KNOWN_MOST_SLOW];
    size_t first[KNOWN_MOST_SLOW]; /* of those that say the same, the first */
    size_t n_rows;
    struct slow_frame *items; /* by the frame's id */
    uint32_t n;
    bool any; /* does a frame have rows? */
};
/* Of all frames of V, which is borrowed, each looked at once. */
void slow_code_init(struct slow_code *all, const struct view *v);
void slow_code_release(struct slow_code *all);

/* The row that most of the time of a group goes to, while it runs or could run, if that is the
 * row's least share. */
struct slow_part {
    const struct known_row *row; /* NULL: none */
    double share;
};
struct slow_part slow_code_of(const struct judgement *s, const struct thread_group *group);
/* Is NODE below a function of ROW's, or of a row that says the same? */
bool slow_code_has(const struct judgement *s, const struct known_row *row, uint32_t node);

/* What printed findings have told: where CPUs are scarce two of them are about the same work. */
enum { SLOW_TOLD = 16 };
struct slow_told {
    struct {
        const struct thread_summary *whose; /* the first thread of the group */
        const struct known_row *row;        /* NULL: its calls */
    } items[SLOW_TOLD];
    size_t n;
};
/* " re compiles patterns for 97% of that: …": PART, if there is one, of GROUP.  Then: " It makes
 * 525,000 reads a second: …", if that is so.  Neither is told twice.  OF: what its share is of, as
 * the sentence has it: "that". */
void add_slow_code(const struct judgement *s, const struct slow_part *part,
                   const struct thread_group *group, const char *of, struct text *words,
                   struct finding *f);
/* " pydantic builds schemas for 82% of intake's CPU time: …": the same of OTHER, whom the sentence
 * is not about, without its calls, if it computes for much of its time.  Returns the row's share,
 * also if it was told before; 0: no row. */
double add_slow_code_of(const struct judgement *s, const struct thread_group *other,
                        struct text *words, struct finding *f);
