#include "summary/shared_callee.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { LEAST_CALLERS = 3 };
static const double about_as_much = 0.8;

/* A node of a function that has enough time in all. */
struct place {
    uint32_t key, caller; /* the function's; its caller's */
    uint32_t node;
    int64_t ns;
};
/* Those of one function. */
struct function {
    const struct place *places;
    size_t n, callers;
    int64_t ns, most_of_one; /* in all; under the caller with most */
    uint32_t heaviest;       /* node */
};

static bool is_nested(const struct call_tree *tree, uint32_t node)
{
    const struct call_node at = call_tree_node(tree, node);
    for (uint32_t above = at.parent; above; above = call_tree_node(tree, above).parent)
        if (call_tree_node(tree, above).key == at.key)
            return true;
    return false;
}

static bool may_be_named(const struct call_node *at)
{
    return at->frame->kind == SHOWN_WAIT || at->role != ROLE_GLUE;
}

/* By key: the time of all its outermost nodes. */
static int64_t *sum_up(const struct call_tree *tree, const int64_t *total_ns, bool *outermost)
{
    uint32_t n = call_tree_count(tree);
    uint32_t most = 0;
    for (uint32_t node = 1; node <= n; node++)
        most = call_tree_node(tree, node).key > most ? call_tree_node(tree, node).key : most;
    int64_t *sums = xcalloc(most + (size_t)1, sizeof *sums);
    for (uint32_t node = 1; node <= n; node++) {
        const struct call_node at = call_tree_node(tree, node);
        outermost[node] = total_ns[node] > 0 && may_be_named(&at) && !is_nested(tree, node);
        if (outermost[node])
            sums[at.key] += total_ns[node];
    }
    return sums;
}

static int by_function_and_caller(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* The outermost nodes of all functions with LEAST_NS, sorted; the caller frees them. */
static struct place *list_places(const struct call_tree *tree, const int64_t *total_ns,
                                 int64_t least_ns, size_t *ret_n)
{
    struct place *places = NULL;
    size_t capacity = 0;
    bool *outermost = xcalloc(call_tree_count(tree) + (size_t)1, sizeof *outermost);
    int64_t *sums = sum_up(tree, total_ns, outermost);
    *ret_n = 0;
    for (uint32_t node = 1; node <= call_tree_count(tree); node++) {
        const struct call_node at = call_tree_node(tree, node);
        if (!outermost[node] || sums[at.key] < least_ns)
            continue;
        places = array_reserve(places, &capacity, *ret_n + 1, sizeof *places);
        places[(*ret_n)++] =
            (struct place){at.key, call_tree_node(tree, at.parent).key, node, total_ns[node]};
    }
    free(sums);
    free(outermost);
    if (*ret_n)
        qsort(places, *ret_n, sizeof *places, by_function_and_caller);
    return places;
}

/* The function that PLACES, N of them, begin with. */
static struct function first_function(const struct place *places, size_t n)
{
    struct function f = {.places = places};
    int64_t heaviest_ns = 0;
    int64_t caller_ns = 0;
    for (; f.n < n && places[f.n].key == places[0].key; f.n++) {
        const struct place *at = &places[f.n];
        bool same = f.n && at->caller == places[f.n - 1].caller;
        f.callers += !same;
        caller_ns = at->ns + (same ? caller_ns : 0);
        f.most_of_one = caller_ns > f.most_of_one ? caller_ns : f.most_of_one;
        f.ns += at->ns;
        if (at->ns > heaviest_ns) {
            heaviest_ns = at->ns;
            f.heaviest = at->node;
        }
    }
    return f;
}

static bool is_shared(const struct function *f)
{
    return f->callers >= LEAST_CALLERS && f->most_of_one < f->ns / 2;
}

/* Does A say more than B?  The C library is what others call. */
static bool is_better(const struct call_tree *tree, const struct function *a,
                      const struct function *b)
{
    const struct call_node x = call_tree_node(tree, a->heaviest);
    const struct call_node y = call_tree_node(tree, b->heaviest);
    if ((x.role == ROLE_LIBC) != (y.role == ROLE_LIBC))
        return y.role == ROLE_LIBC;
    return x.depth > y.depth;
}

/* The best of those with about as much time as MOST_NS; its `n` is 0 if there is none. */
static struct function choose(const struct call_tree *tree, const struct place *places, size_t n,
                              int64_t most_ns)
{
    struct function best = {0};
    struct function f;
    for (size_t i = 0; i < n; i += f.n) {
        f = first_function(places + i, n - i);
        if (is_shared(&f) && (double)f.ns >= about_as_much * (double)most_ns &&
            (!best.n || is_better(tree, &f, &best)))
            best = f;
    }
    return best;
}

static int64_t most_of_shared(const struct place *places, size_t n)
{
    int64_t most_ns = 0;
    struct function f;
    for (size_t i = 0; i < n; i += f.n) {
        f = first_function(places + i, n - i);
        most_ns = is_shared(&f) && f.ns > most_ns ? f.ns : most_ns;
    }
    return most_ns;
}

bool shared_callee_find(const struct call_tree *tree, const int64_t *total_ns, int64_t least_ns,
                        struct shared_callee *ret)
{
    size_t n;
    struct place *places = list_places(tree, total_ns, least_ns, &n);
    const struct function best = choose(tree, places, n, most_of_shared(places, n));
    *ret = (struct shared_callee){.n = best.n, .callers = best.callers, .ns = best.ns};
    if (best.n)
        ret->nodes = xcalloc(best.n, sizeof *ret->nodes);
    for (size_t i = 0, next = 1; i < best.n; i++)
        ret->nodes[best.places[i].node == best.heaviest ? 0 : next++] = best.places[i].node;
    free(places);
    return best.n > 0;
}

/* ---- below it ---- */

/* Of the nodes right below those IN, by node, the key with most time, and that time; 0: none.
 * SUMS: by key, all zero before and after. */
static uint32_t heaviest_below(const struct call_tree *tree, const int64_t *total_ns,
                               const bool *in, int64_t *sums, int64_t *ret_ns)
{
    uint32_t best = 0;
    *ret_ns = 0;
    for (uint32_t node = 1; node <= call_tree_count(tree); node++) {
        const struct call_node at = call_tree_node(tree, node);
        if (!in[at.parent])
            continue;
        sums[at.key] += total_ns[node];
        if (sums[at.key] > *ret_ns) {
            *ret_ns = sums[at.key];
            best = at.key;
        }
    }
    for (uint32_t node = 1; node <= call_tree_count(tree); node++)
        sums[call_tree_node(tree, node).key] = 0;
    return best;
}

/* Goes on from the nodes IN to those right below them with KEY; returns the heaviest. */
static uint32_t step_down(const struct call_tree *tree, const int64_t *total_ns, uint32_t key,
                          bool *in)
{
    uint32_t heaviest = 0;
    for (uint32_t node = call_tree_count(tree); node; node--) { /* children before their parent */
        const struct call_node at = call_tree_node(tree, node);
        in[node] = in[at.parent] && at.key == key;
        if (in[node] && (!heaviest || total_ns[node] > total_ns[heaviest]))
            heaviest = node;
    }
    return heaviest;
}

uint32_t shared_callee_leaf(const struct call_tree *tree, const int64_t *total_ns,
                            const struct shared_callee *callee)
{
    uint32_t n = call_tree_count(tree);
    uint32_t leaf = callee->nodes[0];
    uint32_t most = 0;
    for (uint32_t node = 1; node <= n; node++)
        most = call_tree_node(tree, node).key > most ? call_tree_node(tree, node).key : most;
    int64_t *sums = xcalloc(most + (size_t)1, sizeof *sums);
    bool *in = xcalloc(n + (size_t)1, sizeof *in);
    for (size_t i = 0; i < callee->n; i++)
        in[callee->nodes[i]] = true;
    for (;;) {
        int64_t ns;
        uint32_t key = heaviest_below(tree, total_ns, in, sums, &ns);
        if (!key || ns < callee->ns / 2)
            break;
        leaf = step_down(tree, total_ns, key, in);
    }
    free(sums);
    free(in);
    return leaf;
}
