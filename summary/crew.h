/* Threads that do the same work: those of one process that are called the same but for numbers, or
 * the main threads of one process's children.  They may be of several groups: what they do at a
 * time differs.  Private to the rules about pools. */
#pragma once

#include "summary/rules.h"

struct crew {
    const struct judgement *s;
    struct thread_group *group; /* the first of its groups that works */
    size_t n;
    int64_t wall_ns, start_ns, end_ns; /* of their lives, summed; of the first, of the last */
    struct tally time;                 /* of them all */
    /* The user's function that hands out its work, as call_node's key; 0: none.  The rule
     * that asks for it sets it. */
    uint32_t loop;
    bool *joined; /* by thread summary: it belongs to it, too, crew_widen(); NULL: none do */
    bool wider;   /* some do */
};
/* The crew whose first working group is GROUP, of LEAST threads or more; false: there is none.  The
 * caller releases RET in both cases. */
bool crew_make(const struct judgement *s, struct thread_group *group, size_t least,
               struct crew *ret);
/* Adds the other threads of C's process, but main, that are ever in the user's function of KEY, as
 * call_node has it, whatever they are called; 0: none. */
void crew_widen(struct crew *c, uint32_t key);
void crew_release(struct crew *c);
/* How many of them live at a time, on average: threads that serve one request each come and go. */
double crew_alive(const struct crew *c);
bool crew_has(const struct crew *c, const struct thread_summary *t);
/* The threads of C, one after the other: *I from 0 on; NULL: no more. */
const struct thread_summary *crew_next(const struct crew *c, size_t *i);

/* When the number of a crew's threads that do something changes.  Zero-initialise. */
struct crew_changes {
    struct crew_change {
        int64_t ns; /* since the profile's origin */
        int by;     /* 1: one more */
    } * items;
    size_t n, capacity;
};
void crew_changes_add(struct crew_changes *all, const struct intervals *times); /* of a thread */
void crew_changes_sort(struct crew_changes *all);
void crew_changes_release(struct crew_changes *all);

/* "handler threads", "python3 processes" */
void crew_add_name(const struct crew *c, struct text *out);
