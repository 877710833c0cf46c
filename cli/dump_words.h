/* A thread of a dump in words, and its stack as lines. */
#pragma once

#include "cli/dump_fold.h"
#include "summary/brief_stack.h"
#include "target/source_line.h"

/* Appends what T does: "waits for a mutex (0x55f2…140), held by 13 b", "in read of pipe", "runs,
 * holds the GIL".  Not NUMBERED: without addresses and tids. */
void dump_words_state(const struct dump *d, const struct dump_thread *t, bool numbered,
                      struct text *out);
/* Appends "0.5 s", not more than NS. */
void dump_words_time(int64_t ns, struct text *out);
/* Appends STATE, of N threads: of several "wait" for "waits", "are stopped" for "is stopped", "have
 * ended" for "has ended". */
void dump_words_of_several(size_t n, const char *state, struct text *out);
/* Appends ", load_batch train.py:5": the innermost function of the user's own that T is in, or of a
 * library; nothing if it is in neither.  Not LINED: without the line. */
void dump_words_place(const struct dump *d, const struct dump_thread *t, bool lined,
                      struct text *out);
/* Appends the stack that F's threads are in, a line for each frame, innermost first, and behind a
 * frame of Python's its arguments, if all have the same.  Adds to HIDDEN, by enum brief_hidden, the
 * frames that are not shown.  HIDDEN NULL: without arguments, to tell stacks apart. */
void dump_words_stack(struct dump *d, const struct dump_fold *f, struct source_lines *sources,
                      size_t hidden[BRIEF_KINDS], struct text *out);
