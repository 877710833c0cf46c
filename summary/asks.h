/* Functions that ask whether something is so, and do not wait until it is: who calls them again and
 * again waits all the same. */
#pragma once

#include "summary/view.h"

enum asked {
    ASKED_NOTHING,
    ASKED_CHILD,  /* whether a child has ended */
    ASKED_FILE,   /* whether a file is there, or has changed */
    ASKED_LOCK,   /* for a lock */
    ASKED_RESULT, /* whether another thread or process has done something */
    ASKED_UNTOLD, /* only a name says that something is asked for */
};
/* What a STACK of N frames, of a thread that runs, asks for, by the frames inside of the user's
 * innermost function. */
enum asked asks_of(const struct shown_frame *stack, size_t n);
/* What F, a function of a library's that sleeps in a loop, asks for between. */
enum asked asks_by_sleeping(const struct shown_frame *f);
/* Does NAME say that its function waits until something is so, or a lock is free?  A "wait(ms)" may
 * be a mere pause. */
enum asked asks_by_name(const char *name);
/* Does NAME say that its function waits for a time, as wait_until_next_frame()? */
bool asks_for_time(const char *name);
const char *asks_words(enum asked asked);  /* " for a lock,": behind "polls 97% of its time" */
const char *asks_remedy(enum asked asked); /* a sentence on the way out */
