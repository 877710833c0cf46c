/* The shape of a stack: what stays of it where addresses, lines, recursion, inlining and what the C
 * library does inside are left out.  Two threads of one shape are in the same code. */
#pragma once

#include "fleet/fleet.h"

struct shape {
    uint32_t own_place; /* their own functions: the same for equal ones */
    uint32_t place;     /* the same, and what these call */
    uint32_t whole;     /* all of the functions */
    uint32_t root;      /* the outermost function; FLEET_NONE: there is none */
    uint32_t own;       /* the node of the innermost function of their own; 0: none */
};
struct shapes {       /* zero-initialise */
    struct map known; /* node → item */
    struct shape *items;
    size_t n, capacity;
    struct map tree; /* of the functions that count */
    uint32_t n_tree;
};

/* The shape of the stack that ends in NODE.  F is complete: who is inlined anywhere is known. */
const struct shape *shapes_of(struct shapes *s, const struct fleet *f, uint32_t node);
void shapes_release(struct shapes *s);
