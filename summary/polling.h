/* Waits that ask again and again, and sleep between: they end late, by up to a whole sleep. */
#pragma once

#include "summary/rules.h"

enum asked { ASKED_NOTHING, ASKED_CHILD, ASKED_FILE, ASKED_LOCK, ASKED_RESULT, ASKED_UNTOLD };
struct polling {
    enum asked asked; /* ASKED_NOTHING: no sign that it asks; ASKED_UNTOLD: only its name says so */
    double per_s;     /* sleeps a second of each thread */
    int64_t each_ns;  /* of a sleep, on average */
};
/* How GROUP sleeps at NODE, a sleep, and for what it asks between: by the library's function that
 * is known to do so, by what samples found it doing between, or by its function's name. */
struct polling polling_at(const struct scene *s, struct thread_group *group, uint32_t node);
/* What a STACK of N frames, of a thread that runs, asks for, by the frames inside of the user's
 * innermost function. */
enum asked polling_asks(const struct shown_frame *stack, size_t n);
/* "for a lock": behind "polls 97% of its time" */
const char *polling_words(enum asked asked);
/* A sentence on the way out. */
const char *polling_remedy(enum asked asked);
