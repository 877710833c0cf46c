#include "summary/heaviest_paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* ---- the walk ---- */

struct path_walk {
    struct tally *t;
    uint32_t *heaviest;     /* child of each node; 0: none */
    uint32_t *first, *next; /* child of each node, and sibling; 0: none */
    int64_t *own_ns; /* of each node: in the user's functions that it calls, at whatever distance */
};

static struct path_walk walk_start(struct tally *t)
{
    uint32_t n = call_tree_count(t->tree);
    struct path_walk w = {.t = t,
                          .heaviest = xcalloc(n + 1, sizeof *w.heaviest),
                          .first = xcalloc(n + 1, sizeof *w.first),
                          .next = xcalloc(n + 1, sizeof *w.next),
                          .own_ns = xcalloc(n + 1, sizeof *w.own_ns)};
    for (uint32_t node = n; node; node--) { /* a parent comes before its children */
        const struct call_node at = call_tree_node(t->tree, node);
        uint32_t *best = &w.heaviest[at.parent];
        int64_t ns = tally_total(t, node);
        w.next[node] = w.first[at.parent];
        w.first[at.parent] = node;
        if (ns > 0 && (!*best || ns >= tally_total(t, *best)))
            *best = node;
        w.own_ns[at.parent] += at.role == ROLE_OWN ? ns : w.own_ns[node];
    }
    return w;
}

static void walk_release(struct path_walk *w)
{
    free(w->heaviest);
    free(w->first);
    free(w->next);
    free(w->own_ns);
}

/* The innermost of the user's functions that NODE is in; 0: none. */
static uint32_t own_above(const struct call_tree *tree, uint32_t node)
{
    while (node && call_tree_node(tree, node).role != ROLE_OWN)
        node = call_tree_node(tree, node).parent;
    return node;
}

/* Is NODE a library's that works for the user's function, and hardly calls another?  Then the time
 * is that function's, wherever the library spends it. */
static bool is_work_of_library(const struct path_walk *w, uint32_t node)
{
    return call_tree_node(w->t->tree, node).role != ROLE_OWN && own_above(w->t->tree, node) &&
           w->own_ns[node] < tally_total(w->t, node) / 3;
}

/* From NODE on to the heaviest child, while that has at least half of its parent; in a library also
 * two thirds of the user's function that it works for. */
static uint32_t walk(const struct path_walk *w, uint32_t node)
{
    for (uint32_t next; (next = w->heaviest[node]); node = next) {
        int64_t ns = tally_total(w->t, next);
        if (ns < tally_total(w->t, node) / 2)
            break;
        if (is_work_of_library(w, next) &&
            ns < tally_total(w->t, own_above(w->t->tree, next)) / 3 * 2)
            break;
    }
    return node;
}

/* ---- ways ---- */

/* Nodes that a reader cannot tell apart. */
struct way {
    struct call_path_keys keys;
    struct path_end *ends; /* the heaviest first */
    size_t n, capacity;
    int64_t first_ns, ns; /* of the heaviest; of all */
};
struct ways {
    struct call_tree *tree;
    struct way *items;
    size_t n, capacity;
    struct index index;
};

static void ways_clear(struct ways *ways)
{
    for (size_t i = 0; i < ways->n; i++)
        free(ways->items[i].ends);
    ways->n = 0;
    index_release(&ways->index);
}

static bool has_keys(const void *item, const void *wanted)
{
    return call_path_same(&((const struct way *)item)->keys, wanted);
}

static uint64_t hash_keys(const struct call_path_keys *k)
{
    uint64_t outer = hash_u64((uint64_t)k->caller << 32 | k->inner);
    return hash_u64(outer ^ ((uint64_t)k->libc << 32 | k->wait));
}

static struct way *way_of(struct ways *ways, uint32_t node)
{
    struct call_path_keys keys = call_path_keys(ways->tree, node);
    uint64_t hash = hash_keys(&keys);
    uint32_t found =
        index_find(&ways->index, hash, ways->items, sizeof *ways->items, has_keys, &keys);
    if (found != INDEX_NONE)
        return &ways->items[found];
    ways->items = array_reserve(ways->items, &ways->capacity, ways->n + 1, sizeof *ways->items);
    index_add(&ways->index, hash, (uint32_t)ways->n);
    ways->items[ways->n] = (struct way){.keys = keys};
    return &ways->items[ways->n++];
}

static void add_way_to(struct ways *ways, uint32_t node, bool only_self, int64_t ns)
{
    if (!node || ns <= 0) /* node 0 is in no function */
        return;
    struct way *way = way_of(ways, node);
    way->ns += ns;
    way->ends = array_reserve(way->ends, &way->capacity, way->n + 1, sizeof *way->ends);
    struct path_end *last = &way->ends[way->n++];
    *last = (struct path_end){node, only_self};
    if (ns > way->first_ns) {
        const struct path_end heaviest = *last;
        *last = way->ends[0];
        way->ends[0] = heaviest;
        way->first_ns = ns;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct way *x = a;
    const struct way *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return (x->ends[0].node > y->ends[0].node) - (x->ends[0].node < y->ends[0].node);
}

/* The first MAX, without those of less than LEAST_NS but for the first; returns how many. */
static size_t take(struct tally *t, struct ways *ways, struct call_path *ret, size_t max,
                   int64_t least_ns)
{
    size_t n = 0;
    if (ways->n)
        qsort(ways->items, ways->n, sizeof *ways->items, by_time);
    while (n < max && n < ways->n && (!n || ways->items[n].ns >= least_ns)) {
        ret[n] = call_path_to_ends(t, ways->items[n].ends, ways->items[n].n);
        ret[n].ns = ways->items[n].ns;
        n++;
    }
    ways_clear(ways);
    free(ways->items);
    return n;
}

/* ---- all ways of a tally ---- */

/* Does the time in END, where a walk ends, go into several ways, none of which has half of it?  Of
 * a library's ways only its waits are of interest. */
static bool is_split(const struct path_walk *w, uint32_t end)
{
    struct tally *t = w->t;
    uint32_t heaviest = w->heaviest[end];
    return heaviest && tally_self(t, end) < tally_total(t, end) / 2 &&
           (!is_work_of_library(w, end) ||
            call_tree_node(t->tree, heaviest).frame->kind == SHOWN_WAIT);
}

static void add_ways(const struct path_walk *w, uint32_t node, struct ways *ways);

/* The ways from NODE on, but for those through its child DONE; 0: all. */
static void add_children(const struct path_walk *w, uint32_t node, uint32_t done, struct ways *ways)
{
    add_way_to(ways, node, true, tally_self(w->t, node));
    for (uint32_t child = w->first[node]; child; child = w->next[child])
        if (child != done && tally_total(w->t, child) > 0)
            add_ways(w, child, ways);
}

/* All ways from NODE on, disjoint: the end of the walk, and what leaves it before. */
static void add_ways(const struct path_walk *w, uint32_t node, struct ways *ways)
{
    uint32_t end = walk(w, node);
    if (is_split(w, end))
        add_children(w, end, 0, ways);
    else
        add_way_to(ways, end, false, tally_total(w->t, end));
    for (uint32_t at = end; at != node; at = call_tree_node(w->t->tree, at).parent)
        add_children(w, call_tree_node(w->t->tree, at).parent, at, ways);
}

static int64_t heaviest_ns(const struct ways *ways)
{
    int64_t ns = 0;
    for (size_t i = 0; i < ways->n; i++)
        ns = ways->items[i].ns > ns ? ways->items[i].ns : ns;
    return ns;
}

size_t call_paths_heaviest(struct tally *t, struct call_path *ret, size_t max)
{
    struct path_walk w = walk_start(t);
    struct ways ways = {.tree = t->tree};
    int64_t active_ns = t->all_ns - t->idle_ns;
    add_children(&w, 0, 0, &ways);
    uint32_t end = walk(&w, 0);
    if (end && heaviest_ns(&ways) < active_ns / 10) { /* many small ways: who goes them? */
        ways_clear(&ways);
        add_way_to(&ways, end, false, tally_total(t, end));
    }
    walk_release(&w);
    return take(t, &ways, ret, max, active_ns / 20);
}

bool call_path_of_nodes(struct tally *t, node_test *test, const void *arg, struct call_path *ret)
{
    struct ways ways = {.tree = t->tree};
    for (uint32_t node = 1; node <= call_tree_count(t->tree); node++)
        if (tally_self(t, node) > 0 && test(t->tree, node, arg))
            add_way_to(&ways, node, false, tally_total(t, node));
    return take(t, &ways, ret, 1, 0) == 1;
}
