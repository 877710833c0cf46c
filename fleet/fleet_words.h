/* What the dumps of a job say, in words and by names: for the text and for JSON. */
#pragma once

#include "base/text.h"
#include "fleet/verdict.h"

/* Appends "rank 3", or "process 1234". */
void fleet_words_add_member(const struct fleet *f, const struct verdict *v, uint32_t member,
                            struct text *out);
/* Appends the members of C: "0-3 (node1), 4-7 (node2)". */
void fleet_words_add_members(const struct fleet *f, const struct verdict *v,
                             const struct verdict_class *c, struct text *out);
/* Appends N ascending ranks: "3, 9-12". */
void fleet_words_add_ranks(const int64_t *ranks, size_t n, struct text *out);
/* The line of the frame at NODE of C's stack; 0: unknown. */
uint32_t fleet_words_line(const struct fleet *f, const struct verdict_class *c, uint32_t node);
/* Appends where the threads of C are: "load_batch train.py:5"; CALLED: and what is called there;
 * LINED: with the file.  COLUMNS: the most of a name. */
void fleet_words_add_place(const struct fleet *f, struct verdict *v, const struct verdict_class *c,
                           bool called, bool lined, size_t columns, struct text *out);
/* Appends the ways to C's innermost function: "main a.py:9 > step a.py:5 > recv". */
void fleet_words_add_way(const struct fleet *f, const struct verdict_class *c, struct text *out);
/* Appends the first line of the report, without its end: who is elsewhere, or that nobody is.  At
 * most WIDTH columns. */
void fleet_words_add_headline(const struct fleet *f, struct verdict *v, size_t width,
                              struct text *out);
/* Appends what is wrong with an input: "x.json: it ends within a text (dump 3)". */
void fleet_words_add_input(const struct fleet_input *in, struct text *out);
