#include "profile/stack_tree.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"

static uint64_t hash_node(stack_id parent, frame_id f)
{
    return hash_u64((uint64_t)parent.ix << 32 | f.ix);
}

static bool same_node(const void *item, const void *wanted)
{
    const struct stack_node *a = item;
    const struct stack_node *b = wanted;
    return a->parent.ix == b->parent.ix && a->frame.ix == b->frame.ix;
}

stack_id stack_tree_find(struct stack_tree *t, stack_id parent, frame_id f)
{
    const struct stack_node wanted = {.parent = parent, .frame = f};
    stack_id *recent = parent.ix ? &t->nodes[parent.ix - 1].recent : &t->recent;
    if (recent->ix && t->nodes[recent->ix - 1].frame.ix == f.ix)
        return *recent;
    uint32_t item =
        index_find(&t->index, hash_node(parent, f), t->nodes, sizeof *t->nodes, same_node, &wanted);
    if (item == INDEX_NONE)
        return (stack_id){0};
    *recent = (stack_id){item + 1};
    return *recent;
}

stack_id stack_tree_add(struct stack_tree *t, stack_id parent, frame_id f)
{
    assert(f.ix && parent.ix <= t->n && t->n < UINT32_MAX - 1);
    t->nodes = array_reserve(t->nodes, &t->capacity, t->n + 1, sizeof *t->nodes);
    uint32_t depth = parent.ix ? stack_tree_node(t, parent)->depth + 1 : 1;
    index_add(&t->index, hash_node(parent, f), (uint32_t)t->n);
    t->nodes[t->n++] = (struct stack_node){.parent = parent, .frame = f, .depth = depth};
    return (stack_id){(uint32_t)t->n};
}

const struct stack_node *stack_tree_node(const struct stack_tree *t, stack_id s)
{
    assert(s.ix && s.ix <= t->n);
    return &t->nodes[s.ix - 1];
}

size_t stack_tree_bytes(const struct stack_tree *t)
{
    return t->n * sizeof *t->nodes + index_bytes(&t->index);
}

void stack_tree_release(struct stack_tree *t)
{
    free(t->nodes);
    index_release(&t->index);
    *t = (struct stack_tree){0};
}
