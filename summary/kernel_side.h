/* The other side of a wait in the kernel: a child, the end of a pipe, the holder of a file's
 * lock. */
#pragma once

#include "summary/mutual.h"

/* Whom or what some waits are for. */
struct side_sum {
    struct wait_side side;
    pid_t waiter; /* the process that waits */
    int64_t ns;
    int64_t named_ns; /* of it SIDE's process, or another one, is known */
    bool many;        /* several processes of that name */
    bool mixed;       /* of other names, too */
};
struct kernel_side {
    struct side_sum sum;
    bool told;                       /* SUM is: it has most of the waits */
    int64_t all_ns;                  /* of the waits */
    const struct listener *listener; /* at the address where nobody was found; NULL: nobody */
    /* Of the only recorded process that the waits are for: */
    const struct thread_group *other; /* what this group does then is told; NULL: none */
    struct mutual mutual;             /* who waits for them, too */
    struct intervals waits;           /* when they wait */
};
/* Whom or what GROUP's waits at NODE, whose name the words have, are for, where the kernel showed
 * most of their time. */
struct kernel_side kernel_side_of(const struct judgement *s, const struct thread_group *group,
                                  uint32_t node);
/* " It waits for its child 4711 (sleep). Meanwhile 4711 (sleep) is 99% in clock_nanosleep.": of
 * SIDE, which may be all zero.  GROUP waits. */
void kernel_side_add(const struct judgement *s, const struct thread_group *group,
                     const struct kernel_side *side, struct text *words, struct finding *f);
void kernel_side_release(struct kernel_side *side);

/* " It waits for its child 4711 (sleep).": the same, but for what that one does.  NAMED: the words
 * have the wait's name, with an address in it.  Returns whether it added something. */
bool add_kernel_side(const struct judgement *s, const struct thread_group *group, uint32_t node,
                     bool named, struct text *words, struct finding *f);
/* " When idle it waits for 127.0.0.1:5432 of 4711 (postgres).": whose answer the event loops of
 * GROUP wait for while they poll, if most of that time is for one address. */
void add_loops_answer(const struct judgement *s, const struct thread_group *group,
                      struct text *words);
/* The only group that waits for another process, where GROUP's waits at NODE are for a thread of
 * its own process; NULL: there is none. */
const struct thread_group *go_between_of(const struct judgement *s,
                                         const struct thread_group *group, uint32_t node);
/* " Meanwhile io waits for 127.0.0.1:5432 of 4711 (postgres): …"  FOUND may be NULL. */
void add_go_between(const struct judgement *s, const struct thread_group *found,
                    struct text *words);
/* " Meanwhile one of them waits for whoever connects: …", where GROUP's waits at NODE, for a lock,
 * are the turns of servers to accept a connection. */
void add_turns_to_serve(const struct judgement *s, const struct thread_group *group, uint32_t node,
                        struct text *words);
