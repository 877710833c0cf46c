/* What the dumps of a job say, in words and by names: for the text and for JSON. */
#pragma once

#include "base/text.h"
#include "fleet/verdict.h"

/* Appends "rank 3", or "process 1234". */
void fleet_words_add_member(const struct fleet *f, const struct verdict *v, uint32_t member,
                            struct text *out);
/* Its rank, or its pid. */
int64_t fleet_words_number(const struct fleet *f, const struct verdict *v, uint32_t member);
const char *fleet_words_host(const struct fleet *f, const struct verdict *v, uint32_t member);
/* Appends the members of C: "0-3 (node1), 4-7 (node2)"; of one rank "3 (node1, pid 4711)". */
void fleet_words_add_members(const struct fleet *f, const struct verdict *v,
                             const struct verdict_class *c, struct text *out);
/* Appends N ascending ranks: "3, 9-12". */
void fleet_words_add_ranks(const int64_t *ranks, size_t n, struct text *out);
/* The line of the frame at NODE of C's stack; 0: unknown. */
uint32_t fleet_words_line(const struct fleet *f, const struct verdict_class *c, uint32_t node);
/* Is the frame at NODE worth a reader's look: neither on the way only, nor inlined in a library? */
bool fleet_words_shows(const struct fleet *f, uint32_t node);
/* Appends its name, of COLUMNS at most. */
void fleet_words_add_name(const struct fleet *f, uint32_t node, size_t columns, struct text *out);
/* The same of C's stack, with file and line if LINED: "load_batch train.py:5". */
void fleet_words_add_frame(const struct fleet *f, const struct verdict_class *c, uint32_t node,
                           size_t columns, bool lined, struct text *out);
/* Appends the way to C's innermost function: "main a.py:9 > step a.py:5 > recv". */
void fleet_words_add_way(const struct fleet *f, const struct verdict_class *c, struct text *out);
/* Appends where most chains of waits end: "7 ranks wait, straight or through others, for rank 3
 * (node0)".  Nothing where nobody waits for another. */
void fleet_words_add_chain(const struct fleet *f, const struct verdict *v, struct text *out);
/* Appends ", for any of 3 others" if any of several processes could end the wait of each of C, so
 * that none is named. */
void fleet_words_add_peers(const struct verdict *v, const struct verdict_class *c,
                           struct text *out);
/* Appends what is wrong with an input: "x.json: it ends within a text (dump 3)". */
void fleet_words_add_input(const struct fleet_input *in, struct text *out);
