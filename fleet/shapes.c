#include "fleet/shapes.h"

#include <stdlib.h>

#include "base/alloc.h"

struct way { /* outermost first */
    uint32_t nodes[FLEET_FRAMES];
    size_t n;
};

static const struct function *function_of(const struct fleet *f, uint32_t node)
{
    return &f->functions.items[f->nodes[node].function];
}

static void walk(const struct fleet *f, uint32_t node, struct way *ret)
{
    ret->n = 0;
    for (uint32_t at = node; at && ret->n < FLEET_FRAMES; at = f->nodes[at].parent)
        ret->nodes[ret->n++] = at;
    for (size_t i = 0; i < ret->n / 2; i++) {
        uint32_t node_there = ret->nodes[i];
        ret->nodes[i] = ret->nodes[ret->n - 1 - i];
        ret->nodes[ret->n - 1 - i] = node_there;
    }
}

static uint32_t step(struct shapes *s, uint32_t at, uint32_t function)
{
    uint64_t id;
    uint64_t key = (uint64_t)at << 32 | function;
    if (map_get(&s->tree, key, &id))
        return (uint32_t)id;
    map_put(&s->tree, key, ++s->n_tree);
    return s->n_tree;
}

/* The id of the functions on WAY with a role of at most MOST.  ONLY_OWN: of those of their own, and
 * of the first one of a library below them.  Calls of a function by itself count once. */
static uint32_t trace(struct shapes *s, const struct fleet *f, const struct way *way,
                      enum function_role most, bool only_own)
{
    uint32_t at = 0;
    uint32_t last = FLEET_NONE;
    size_t end = way->n;
    size_t own_end = 0;
    for (size_t i = 0; i < way->n; i++)
        if (function_of(f, way->nodes[i])->role == FUNCTION_IS_OWN)
            own_end = i + 1;
    for (size_t i = 0; i < end; i++) {
        const struct function *function = function_of(f, way->nodes[i]);
        uint32_t id = f->nodes[way->nodes[i]].function;
        bool passed = function->role > most || (function->inlined && !function->python);
        if (passed || id == last || (only_own && function->role != FUNCTION_IS_OWN && i < own_end))
            continue;
        at = step(s, at, id);
        last = id;
        if (only_own && i >= own_end)
            break;
    }
    return at;
}

static struct shape measure(struct shapes *s, const struct fleet *f, uint32_t node)
{
    struct way way;
    struct shape ret = {.root = FLEET_NONE};
    walk(f, node, &way);
    for (size_t i = 0; i < way.n; i++) {
        const struct function *function = function_of(f, way.nodes[i]);
        if (function->role == FUNCTION_IS_OWN)
            ret.own = way.nodes[i];
        if (ret.root == FLEET_NONE && function->role == FUNCTION_IS_OWN)
            ret.root = f->nodes[way.nodes[i]].function;
    }
    ret.whole = trace(s, f, &way, FUNCTION_IS_LIBRARY, false);
    if (!ret.whole)
        ret.whole = trace(s, f, &way, FUNCTION_IS_PASSED, false);
    ret.place = ret.own ? trace(s, f, &way, FUNCTION_IS_LIBRARY, true) : ret.whole;
    ret.own_place = ret.own ? trace(s, f, &way, FUNCTION_IS_OWN, true) : ret.whole;
    for (size_t i = 0; i < way.n && ret.root == FLEET_NONE; i++)
        if (function_of(f, way.nodes[i])->role == FUNCTION_IS_LIBRARY)
            ret.root = f->nodes[way.nodes[i]].function;
    return ret;
}

const struct shape *shapes_of(struct shapes *s, const struct fleet *f, uint32_t node)
{
    uint64_t at;
    if (!map_get(&s->known, node, &at)) {
        at = s->n++;
        s->items = array_reserve(s->items, &s->capacity, s->n, sizeof *s->items);
        s->items[at] = measure(s, f, node);
        map_put(&s->known, node, at);
    }
    return &s->items[at];
}

void shapes_release(struct shapes *s)
{
    map_release(&s->known);
    map_release(&s->tree);
    free(s->items);
    *s = (struct shapes){0};
}
