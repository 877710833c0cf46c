/* Threads of a dump, or its tasks, of which the same is said: they are shown as one. */
#pragma once

#include "dump/dump.h"

enum { DUMP_MOST_LISTED = 8 }; /* without --full: names, or stretches of numbers */
struct dump_fold {
    char *words;     /* that they share */
    size_t *members; /* indices of the dump's, in its order */
    size_t n, capacity;
    int order;     /* the smallest comes first */
    int by_number; /* of those 1: the one of the fewest; −1: of the most; 0: whoever is first */
};
struct dump_folds { /* zero-initialise */
    struct dump_fold *items;
    size_t n, capacity;
    struct index index;
};
/* The fold of WORDS, with MEMBER in it. */
struct dump_fold *dump_folds_add(struct dump_folds *f, const char *words, size_t member);
/* The same in two steps, for the caller that looks for the fold by itself. */
struct dump_fold *dump_folds_begin(struct dump_folds *f, const char *words);
void dump_fold_join(struct dump_fold *f, size_t member);
void dump_folds_sort(struct dump_folds *f);
void dump_folds_release(struct dump_folds *f);

/* Appends what a thread is, or does.  Not EXACT: without what may tell like ones apart. */
typedef void dump_say(const struct dump *d, const struct dump_thread *t, bool exact,
                      struct text *out);
/* Appends what SAY says of F's threads, exactly if that is the same of all; false, and nothing: not
 * even the rest is. */
bool dump_fold_say(const struct dump *d, const struct dump_fold *f, dump_say *say,
                   struct text *out);
enum dump_number { DUMP_RANK, DUMP_PID, DUMP_TID };
/* Appends BEFORE and "0-12, 14": the numbers of F's threads; false, and nothing: one has none. */
bool dump_fold_add_numbers(const struct dump *d, const struct dump_fold *f, enum dump_number which,
                           const char *before, struct text *out);
