#include "summary/heaviest_paths.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/minmax.h"

/* ---- the walk ---- */

struct path_walk {
    struct tally *t;
    int64_t *self_ns, *total_ns; /* of each node; as the tally's, but for what is told already */
    uint32_t *heaviest;          /* child of each node; 0: none */
    uint32_t *first, *next;      /* child of each node, and sibling; 0: none */
    int64_t *own_ns; /* of each node: in the user's functions that it calls, at whatever distance */
};

static void sum_untold(struct path_walk *w, const uint32_t *paths)
{
    uint32_t n = call_tree_count(w->t->tree);
    for (uint32_t node = 1; node <= n; node++)
        w->self_ns[node] = w->total_ns[node] = paths[node] ? 0 : tally_self(w->t, node);
    for (uint32_t node = n; node; node--) /* a parent comes before its children */
        w->total_ns[call_tree_node(w->t->tree, node).parent] += w->total_ns[node];
}

/* PATHS: as call_paths_with_nodes(); what it has is told. */
static struct path_walk walk_start(struct tally *t, const uint32_t *paths)
{
    uint32_t n = call_tree_count(t->tree);
    struct path_walk w = {.t = t,
                          .self_ns = xcalloc(n + 1, sizeof *w.self_ns),
                          .total_ns = xcalloc(n + 1, sizeof *w.total_ns),
                          .heaviest = xcalloc(n + 1, sizeof *w.heaviest),
                          .first = xcalloc(n + 1, sizeof *w.first),
                          .next = xcalloc(n + 1, sizeof *w.next),
                          .own_ns = xcalloc(n + 1, sizeof *w.own_ns)};
    sum_untold(&w, paths);
    for (uint32_t node = n; node; node--) {
        const struct call_node at = call_tree_node(t->tree, node);
        uint32_t *best = &w.heaviest[at.parent];
        int64_t ns = w.total_ns[node];
        w.next[node] = w.first[at.parent];
        w.first[at.parent] = node;
        if (ns > 0 && (!*best || ns >= w.total_ns[*best]))
            *best = node;
        w.own_ns[at.parent] += at.role == ROLE_OWN ? ns : w.own_ns[node];
    }
    return w;
}

static void walk_release(struct path_walk *w)
{
    free(w->self_ns);
    free(w->total_ns);
    free(w->heaviest);
    free(w->first);
    free(w->next);
    free(w->own_ns);
}

/* Is NODE a library's that works for the user's function, and hardly calls another?  Then the time
 * is that function's, wherever the library spends it. */
static bool is_work_of_library(const struct path_walk *w, uint32_t node)
{
    return call_tree_node(w->t->tree, node).role != ROLE_OWN && call_tree_own(w->t->tree, node) &&
           w->own_ns[node] < w->total_ns[node] / 3;
}

/* From NODE on to the heaviest child, while that has at least half of its parent; in a library also
 * two thirds of the user's function that it works for. */
static uint32_t walk(const struct path_walk *w, uint32_t node)
{
    for (uint32_t next; (next = w->heaviest[node]); node = next) {
        int64_t ns = w->total_ns[next];
        if (ns < w->total_ns[node] / 2)
            break;
        if (is_work_of_library(w, next) &&
            ns < w->total_ns[call_tree_own(w->t->tree, next)] / 3 * 2)
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

static void ways_release(struct ways *ways)
{
    ways_clear(ways);
    free(ways->items);
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

/* Says in PATHS of all nodes in WAY's time that they are of path NUMBER. */
static void number_nodes(const struct call_tree *tree, const struct way *way, uint32_t number,
                         uint32_t *paths)
{
    bool *below = xcalloc(call_tree_count(tree) + (size_t)1, sizeof *below);
    for (size_t i = 0; i < way->n; i++) {
        paths[way->ends[i].node] = number;
        below[way->ends[i].node] = !way->ends[i].only_self;
    }
    for (uint32_t at = 1; at <= call_tree_count(tree); at++) /* a parent before its children */
        if (!paths[at] && below[call_tree_node(tree, at).parent]) {
            paths[at] = number;
            below[at] = true;
        }
    free(below);
}

/* Appends to the N paths in RET, up to MAX: without those of less than LEAST_NS, but for the first.
 * Returns how many there are; frees WAYS. */
static size_t take(struct tally *t, struct ways *ways, struct call_path *ret, size_t n, size_t max,
                   int64_t least_ns, uint32_t *paths)
{
    if (ways->n)
        qsort(ways->items, ways->n, sizeof *ways->items, by_time);
    for (size_t i = 0; n < max && i < ways->n && (!n || ways->items[i].ns >= least_ns); i++) {
        ret[n] = call_path_to_ends(t, ways->items[i].ends, ways->items[i].n);
        ret[n++].ns = ways->items[i].ns;
        number_nodes(t->tree, &ways->items[i], (uint32_t)n, paths);
    }
    ways_release(ways);
    return n;
}

/* ---- all ways of a tally ---- */

/* Does the time in END, where a walk ends, go into several ways, none of which has half of it?  Of
 * a library's ways only its waits are of interest. */
static bool is_split(const struct path_walk *w, uint32_t end)
{
    uint32_t heaviest = w->heaviest[end];
    return heaviest && w->self_ns[end] < w->total_ns[end] / 2 &&
           (!is_work_of_library(w, end) ||
            call_tree_node(w->t->tree, heaviest).frame->kind == SHOWN_WAIT);
}

static void add_ways(const struct path_walk *w, uint32_t node, struct ways *ways);

/* The ways from NODE on, but for those through its child DONE; 0: all. */
static void add_children(const struct path_walk *w, uint32_t node, uint32_t done, struct ways *ways)
{
    add_way_to(ways, node, true, w->self_ns[node]);
    for (uint32_t child = w->first[node]; child; child = w->next[child])
        if (child != done && w->total_ns[child] > 0)
            add_ways(w, child, ways);
}

/* All ways from NODE on, disjoint: the end of the walk, and what leaves it before. */
static void add_ways(const struct path_walk *w, uint32_t node, struct ways *ways)
{
    uint32_t end = walk(w, node);
    if (is_split(w, end))
        add_children(w, end, 0, ways);
    else
        add_way_to(ways, end, false, w->total_ns[end]);
    for (uint32_t at = end; at != node; at = call_tree_node(w->t->tree, at).parent)
        add_children(w, call_tree_node(w->t->tree, at).parent, at, ways);
}

/* What many functions call is path NUMBER. */
static void number_shared(const struct call_tree *tree, const struct shared_callee *callee,
                          uint32_t number, uint32_t *paths)
{
    for (size_t i = 0; i < callee->n; i++)
        paths[callee->nodes[i]] = number;
    for (uint32_t node = 1; node <= call_tree_count(tree); node++)
        if (!paths[node] && paths[call_tree_node(tree, node).parent])
            paths[node] = paths[call_tree_node(tree, node).parent];
}

/* The untold time of the heaviest way to one place. */
static int64_t heaviest_way_ns(const struct path_walk *w)
{
    struct ways ways = {.tree = w->t->tree};
    add_children(w, 0, 0, &ways);
    int64_t ns = 0;
    for (size_t i = 0; i < ways.n; i++)
        ns = max_i64(ns, ways.items[i].ns);
    ways_release(&ways);
    return ns;
}

/* Tells what many functions call, if that has more of the untold time than any way to one place. */
static bool tell_shared(struct tally *t, uint32_t number, uint32_t *paths, struct call_path *ret)
{
    struct shared_callee callee = {0};
    struct path_walk w = walk_start(t, paths);
    int64_t active_ns = t->all_ns - t->idle_ns;
    bool found = false;
    if (is_split(&w, walk(&w, 0))) {
        int64_t least_ns = max_i64(active_ns / 5, heaviest_way_ns(&w) / 2 * 3);
        found = shared_callee_find(t->tree, w.total_ns, least_ns, &callee);
    }
    if (found) {
        *ret = call_path_shared(t, &callee, shared_callee_leaf(t->tree, w.total_ns, &callee));
        number_shared(t->tree, &callee, number, paths);
    }
    free(callee.nodes);
    walk_release(&w);
    return found;
}

/* Appends the ways of what is not told. */
static size_t tell_ways(struct tally *t, uint32_t *paths, struct call_path *ret, size_t n,
                        size_t max)
{
    struct path_walk w = walk_start(t, paths);
    struct ways ways = {.tree = t->tree};
    int64_t active_ns = t->all_ns - t->idle_ns;
    uint32_t end = walk(&w, 0);
    if (!n && end && heaviest_way_ns(&w) < active_ns / 10) /* many small ones: who goes them? */
        add_way_to(&ways, end, false, w.total_ns[end]);
    else
        add_children(&w, 0, 0, &ways);
    walk_release(&w);
    return take(t, &ways, ret, n, max, active_ns / 20, paths);
}

size_t call_paths_with_nodes(struct tally *t, struct call_path *ret, size_t max,
                             uint32_t *ret_paths)
{
    size_t n = 0;
    while (n < max && tell_shared(t, (uint32_t)n + 1, ret_paths, &ret[n]))
        n++;
    return tell_ways(t, ret_paths, ret, n, max);
}

size_t call_paths_heaviest(struct tally *t, struct call_path *ret, size_t max)
{
    uint32_t *paths = xcalloc(call_tree_count(t->tree) + (size_t)1, sizeof *paths);
    size_t n = call_paths_with_nodes(t, ret, max, paths);
    free(paths);
    return n;
}

bool call_path_of_nodes(struct tally *t, node_test *test, const void *arg, struct call_path *ret)
{
    struct ways ways = {.tree = t->tree};
    uint32_t *paths = xcalloc(call_tree_count(t->tree) + (size_t)1, sizeof *paths);
    for (uint32_t node = 1; node <= call_tree_count(t->tree); node++)
        if (tally_self(t, node) > 0 && test(t->tree, node, arg))
            add_way_to(&ways, node, false, tally_total(t, node));
    bool found = take(t, &ways, ret, 0, 1, 0, paths) == 1;
    free(paths);
    return found;
}
