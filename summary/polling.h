/* Waits that ask again and again, and sleep between: they end late, by up to a whole sleep. */
#pragma once

#include "summary/asks.h"
#include "summary/rules.h"

struct polling {
    enum asked asked; /* ASKED_NOTHING: no sign that it asks; ASKED_UNTOLD: only its name says so */
    double per_s;     /* sleeps a second of a thread's life */
    double sleeps;    /* of a thread, on average */
    int64_t each_ns;  /* of a sleep, on average */
};
/* How GROUP sleeps at NODE, a sleep, and for what it asks between: by the library's function that
 * is known to do so, by what samples found it doing between, or by its function's name. */
struct polling polling_at(const struct judgement *s, struct thread_group *group, uint32_t node);
/* Does a wait at NODE, of GROUP's, end by itself if nobody wakes it? */
bool polling_has_time_out(const struct judgement *s, const struct thread_group *group,
                          uint32_t node);
/* Is that for less than a supervisor's second each, and again and again? */
bool polling_is_often(const struct polling *p);
/* " for the end of its child 4711 (sort),", " for a lock,": what P asks for, of GROUP. */
void polling_add_asked(const struct judgement *s, const struct thread_group *group,
                       const struct polling *p, struct text *words);
/* "sleeps 10 times a second, 100 ms each."  VERB: "sleeps" or "waits". */
void polling_add_times(const struct polling *p, const char *verb, struct text *words);
/* " It polls there for a lock, and sleeps 10 times a second, 100 ms each.", if GROUP asks for
 * something between its sleeps at NODE. */
void add_polling(const struct judgement *s, struct thread_group *group, uint32_t node,
                 struct text *words);
