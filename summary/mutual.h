/* Two that wait for each other: at two pipes or sockets, one of which is full, as whoever reads one
 * of them to its end, before the other, is caught; or one of them for a file's lock. */
#pragma once

#include "summary/rules.h"

struct mutual {
    struct thread_group *group; /* the other one; NULL: nobody */
    double part;                /* of the waits, for which that one waits, too */
    enum wait_thing thing;      /* what is full, or the lock */
    pid_t owner;                /* the process that has that */
};
/* Whose waits are for GROUP's processes, while GROUP's, WAITS, are for OTHER's: OTHER, or another
 * group of its process.  One of the two is in a call that sends, or waits for a file's lock: of
 * idle partners both read. */
struct mutual mutual_of(const struct judgement *s, const struct thread_group *group,
                        struct thread_group *other, const struct intervals *waits);
/* Adds " For 71% of that time each waits for the other: …" */
void add_mutual(const struct mutual *m, struct text *words);
/* Does RUN wait for room in a pipe or socket? */
bool is_for_room(const struct judgement *s, const struct run *run);
/* Adds "nobody reads the pipe that is full. …", with the way out. */
void add_no_reader(enum wait_thing thing, struct text *words);
