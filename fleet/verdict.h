/* What the dumps of a job say: which ranks do the same, and which is elsewhere. */
#pragma once

#include "fleet/members.h"
#include "fleet/shapes.h"
#include "fleet/wait_chain.h"

/* What told the classes apart. */
enum verdict_level {
    LEVEL_PLACE, /* the functions of their own, and what these call */
    LEVEL_WHOLE, /* the functions of libraries below */
    LEVEL_LINES,
    LEVEL_WAIT,    /* what they do there */
    LEVEL_THREADS, /* what another thread of theirs does */
    LEVEL_CHAIN,   /* for whom the others wait, one for the other */
};
enum verdict_kind {
    VERDICT_NOBODY, /* there is no rank at all */
    VERDICT_SAME,   /* all do the same */
    VERDICT_MOVES,  /* most ran or moved on: none is named */
    VERDICT_ODD,    /* CLASSES[ODD] is elsewhere */
};
enum verdict_moved { MOVED_UNKNOWN, MOVED, MOVED_NOT, MOVED_NOT_NO_CPU };

struct verdict_class {
    uint32_t first, n; /* of `order` */
    uint32_t thread;   /* of the fleet: whose stack stands for all */
    uint32_t lines;    /* of that one: in fleet.lines; FLEET_NONE: of the nodes */
    bool stopped;
};
struct verdict {
    enum verdict_kind kind;
    enum verdict_level level;
    struct verdict_class *classes; /* the smallest first */
    size_t n_classes, odd, others; /* OTHERS: the largest */
    uint32_t *order;               /* indices of the members, class by class */
    enum verdict_moved *moved;     /* by member */
    size_t n_still;                /* members that neither ran nor moved on */
    size_t n_rounds;               /* the most that a member has */
    struct members members;
    struct shapes shapes;
    struct wait_chain chain;
};

/* Judges F, which outlives RET.  RET is released by verdict_release(). */
void verdict_find(const struct fleet *f, struct verdict *ret);
const struct fleet_process *verdict_process(const struct fleet *f, const struct verdict *v,
                                            uint32_t member);
/* Are fewer ranks absent than are elsewhere, or is nobody elsewhere, so that an absent one is the
 * first to be named? */
bool verdict_absent_first(const struct verdict *v, const struct fleet *f);
void verdict_release(struct verdict *v);
