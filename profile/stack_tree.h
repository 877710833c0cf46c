/* Stacks as a prefix tree: a stack is its innermost frame and the stack of its callers, so that
 * a million samples of a deep program cost little more than its distinct call paths.
 *
 *      main ── loop ─┬─ read          3 stacks share 2 nodes
 *                    └─ parse
 */
#pragma once

#include <stddef.h>

#include "base/hash.h"
#include "profile/ids.h"

struct stack_node {
    stack_id parent;
    frame_id frame;
    uint32_t depth;
    stack_id recent; /* the child that was asked for last: mostly the next request is for it, too */
};
struct stack_tree { /* zero-initialise */
    struct stack_node *nodes;
    size_t n, capacity;
    struct index index;
    stack_id recent; /* as a node's, of the roots */
};
stack_id stack_tree_find(struct stack_tree *t, stack_id parent, frame_id f); /* or none */
/* The pair must not be there yet. */
stack_id stack_tree_add(struct stack_tree *t, stack_id parent, frame_id f);
const struct stack_node *stack_tree_node(const struct stack_tree *t, stack_id s); /* not none */
size_t stack_tree_bytes(const struct stack_tree *t);                              /* heap in use */
void stack_tree_release(struct stack_tree *t);
