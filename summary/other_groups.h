/* What the other groups do while one waits for whom nobody can read.  Private to the rules. */
#pragma once

#include "summary/kernel_side.h"
#include "summary/where.h"

enum { MOST_OTHERS = 2 }; /* kinds of them that are told: of more none is */
struct other_group {
    struct thread_group *group;
    struct where where;
    struct kernel_side side; /* for what it waits there */
};
struct other_groups {
    struct other_group items[MOST_OTHERS];
    size_t n;
};
/* The groups but GROUP that have something to do, of its process if INSIDE, at most MAX: those
 * first who may wake the others; none that could not end WAITS (0: whoever).  Returns how many
 * there are. */
size_t other_groups_list(const struct judgement *s, const struct thread_group *group, bool inside,
                         double waits, struct thread_group **ret, size_t max);
/* What these do.  Who waits for others, for their end or a result of theirs, is no news: what these
 * do is. */
struct other_groups other_groups_of(const struct judgement *s, const struct thread_group *group,
                                    bool inside, double waits);
/* " 4 till threads are 75% in sell till.py:20 > mutex.", and whom they wait for. */
void other_groups_add(const struct judgement *s, const struct other_groups *others,
                      struct text *words, struct finding *f);
void other_groups_release(struct other_groups *others);
