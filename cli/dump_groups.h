/* Threads of a dump that are in the same stack and do the same, folded; also across processes. */
#pragma once

#include "cli/dump_words.h"

struct dump_group {
    size_t *members; /* indices of the dump's threads, in its order */
    size_t n, capacity;
    struct text stack; /* as lines */
    char *state;       /* what they do, without numbers */
    size_t hidden[BRIEF_KINDS];
    int order; /* the smallest is shown first */
};
struct dump_groups { /* zero-initialise */
    struct dump_group *items;
    size_t n, capacity;
    struct source_lines sources;
};
/* The groups of D, in the order of the output: threads that wait in a circle or for a lock that
 * nobody holds, those that wait behind a circle, running and main threads (of many processes the
 * rarest first), the others, idle pools. */
void dump_groups_find(struct dump *d, struct dump_groups *ret);
/* Appends the group's first lines: "28099 commit      waits for …", and which threads it has. */
void dump_groups_add_head(const struct dump *d, const struct dump_group *g, struct text *out);
void dump_groups_release(struct dump_groups *g);
