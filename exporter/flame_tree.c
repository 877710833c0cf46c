#include "exporter/flame_tree.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"

static uint32_t add_node(struct flame_tree *t, uint32_t parent, uint32_t frame)
{
    assert(t->n < UINT32_MAX);
    t->nodes = array_reserve(t->nodes, &t->capacity, t->n + 2, sizeof *t->nodes);
    if (t->n == 0)
        t->nodes[t->n++] = (struct flame_node){0};
    t->nodes[t->n] =
        (struct flame_node){.parent = parent, .frame = frame, .depth = t->nodes[parent].depth + 1};
    return (uint32_t)t->n++;
}

/* The node of each call on the path that was added last, outermost first. */
struct spine {
    uint32_t *nodes;
    size_t capacity;
    uint32_t path;
};

/* In the order of their ranks equal beginnings of paths are neighbours: the nodes that PATH does
 * not share with the one before are new. */
static uint32_t node_of(struct flame_tree *t, const struct paths *paths, struct spine *s,
                        uint32_t root, uint32_t path)
{
    uint32_t depth = paths_depth(paths, path);
    uint32_t shared = paths_common_depth(paths, s->path, path);
    s->nodes = array_reserve(s->nodes, &s->capacity, depth + (size_t)1, sizeof *s->nodes);
    s->path = path;
    for (uint32_t i = depth; i > shared; i--, path = paths_parent(paths, path))
        s->nodes[i - 1] = paths_frame(paths, path);
    for (uint32_t i = shared; i < depth; i++)
        s->nodes[i] = add_node(t, i ? s->nodes[i - 1] : root, s->nodes[i]);
    return depth ? s->nodes[depth - 1] : root;
}

void flame_tree_add(struct flame_tree *t, const struct paths *paths, uint32_t root,
                    struct path_timeline *l)
{
    struct spine s = {0};
    uint32_t top = add_node(t, 0, root);
    path_timeline_bucket(l, paths, INT64_MAX);
    for (size_t i = 0; i < l->n; i++) {
        uint32_t node = node_of(t, paths, &s, top, l->segments[i].path); /* may move the nodes */
        t->nodes[node].self_ns += l->segments[i].ns;
    }
    free(s.nodes);
}

void flame_tree_sum(struct flame_tree *t)
{
    for (size_t i = t->n; i-- > 0;) {
        struct flame_node *node = &t->nodes[i];
        node->total_ns += node->self_ns;
        if (i)
            t->nodes[node->parent].total_ns += node->total_ns;
    }
}

void flame_tree_release(struct flame_tree *t)
{
    free(t->nodes);
    *t = (struct flame_tree){0};
}

/* ---- boxes ---- */

/* Callers stand before their callees in the tree, so siblings are neighbours in this order, and a
 * caller's place is known before theirs.  Roots stay as they were added. */
static int by_place(const void *a, const void *b, void *ctx)
{
    const struct flame_node *nodes = ctx;
    uint32_t i = ((const struct flame_box *)a)->node;
    uint32_t k = ((const struct flame_box *)b)->node;
    if (nodes[i].parent != nodes[k].parent)
        return nodes[i].parent < nodes[k].parent ? -1 : 1;
    if (nodes[i].parent && nodes[i].total_ns != nodes[k].total_ns)
        return nodes[i].total_ns > nodes[k].total_ns ? -1 : 1;
    return i < k ? -1 : i > k;
}

/* Of one node while its callees are placed. */
struct callee_places {
    int64_t next_ns;   /* where its next callee begins */
    int64_t narrow_ns; /* of its narrow callees */
    uint32_t narrow;
};

static void add_wide_nodes(struct flame_boxes *b, const struct flame_tree *t,
                           struct callee_places *places, int64_t min_ns)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const struct flame_node *node = &t->nodes[i];
        if (node->total_ns >= min_ns) {
            b->items[b->n++] = (struct flame_box){.node = i, .depth = node->depth};
        } else {
            b->left_out++;
            places[node->parent].narrow_ns += node->total_ns;
            places[node->parent].narrow++;
        }
    }
    /* The first is node 0, which has no siblings. */
    if (b->n > 2)
        qsort_r(b->items + 1, b->n - 1, sizeof *b->items, by_place, t->nodes);
}

static void add_merged(struct flame_boxes *b, const struct flame_tree *t,
                       const struct callee_places *places, int64_t min_ns)
{
    for (size_t i = 0, n = b->n; i < n; i++) {
        uint32_t node = b->items[i].node;
        const struct callee_places *at = &places[node];
        if (at->narrow_ns < min_ns)
            continue;
        b->merges = true;
        b->items[b->n++] = (struct flame_box){.node = node,
                                              .merged = at->narrow,
                                              .depth = t->nodes[node].depth + 1,
                                              .start_ns = at->next_ns,
                                              .ns = at->narrow_ns};
    }
}

struct flame_boxes flame_tree_place(const struct flame_tree *t, int64_t min_ns)
{
    struct flame_boxes b = {0};
    assert(min_ns >= 1);
    struct callee_places *places = xcalloc(t->n, sizeof *places);
    size_t n_wide = 0;
    for (size_t i = 0; i < t->n; i++)
        n_wide += t->nodes[i].total_ns >= min_ns;
    b.items = xcalloc(2 * n_wide, sizeof *b.items); /* each may have a box of narrow callees */
    add_wide_nodes(&b, t, places, min_ns);
    for (size_t i = 0; i < b.n; i++) {
        struct flame_box *box = &b.items[i];
        const struct flame_node *node = &t->nodes[box->node];
        struct callee_places *caller = &places[node->parent];
        box->ns = node->total_ns;
        box->start_ns = i ? caller->next_ns : 0;
        caller->next_ns += i ? box->ns : 0;
        places[box->node].next_ns = box->start_ns;
    }
    add_merged(&b, t, places, min_ns);
    for (size_t i = 0; i < b.n; i++)
        if (b.items[i].depth > b.max_depth)
            b.max_depth = b.items[i].depth;
    free(places);
    return b;
}
