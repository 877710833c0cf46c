/* A thread of a dump in words, and its stack as lines. */
#pragma once

#include "cli/dump_thread.h"
#include "summary/brief_stack.h"
#include "target/source_line.h"

/* Appends what T does: "waits for a mutex (0x55f2…140), held by 13 b", "in read of pipe", "runs,
 * holds the GIL".  Not NUMBERED: without addresses and tids. */
void dump_words_state(const struct dump *d, const struct dump_thread *t, bool numbered,
                      struct text *out);
/* What T, which runs, only waits for by its stack. */
enum spin_kind dump_words_spin(const struct dump *d, const struct dump_thread *t);
/* Is T frozen with its cgroup? */
bool dump_words_is_frozen(const struct dump *d, const struct dump_thread *t);
/* Appends "0.5 s", not more than NS. */
void dump_words_time(int64_t ns, struct text *out);
/* Turns a verb from one thread to several: "wait" of "waits", "are stopped" of "is stopped",
 * "have ended" of "has ended". */
void dump_words_plural(const char *state, struct text *out);
/* Appends ", load_batch train.py:5": the innermost function of the user's own that T is in, or of a
 * library; nothing if it is in neither.  Not LINED: without the line. */
void dump_words_place(const struct dump *d, const struct dump_thread *t, bool lined,
                      struct text *out);
/* Some threads, as indices of the dump's. */
struct dump_members {
    const size_t *threads;
    size_t n;
};
/* Appends T's stack, a line for each frame, innermost first.  HIDDEN, by enum brief_hidden, becomes
 * the number of frames that are not shown.  Behind a frame of Python's come its arguments, if all
 * of MEMBERS, which are in the same stack, have the same. */
void dump_words_stack(struct dump *d, const struct dump_thread *t, struct source_lines *sources,
                      const struct dump_members *members, struct text *out,
                      size_t hidden[BRIEF_KINDS]);
