#include "summary/where.h"

#include "base/share.h"
#include "summary/heaviest_paths.h"
#include "summary/path_words.h"

static const double more_share = 0.05; /* of the time: a function has more than its heaviest way */

struct call_path where_own(struct tally *t, const struct call_path *first, int64_t first_ns)
{
    struct call_path own = call_path_own(t);
    int64_t much_ns = (int64_t)(more_share * (double)t->all_ns);
    if (own.caller && !first->callers && own.ns > first_ns + much_ns)
        return own;
    call_path_release(&own);
    return (struct call_path){.ns = 0};
}

/* "read_request a.c:18 > ", if most of the function OWN is called from there. */
static void add_caller(struct call_tree *tree, const struct call_path *own,
                       const struct call_path *way, struct text *words)
{
    if (!way->caller || way->ns <= own->ns / 2 ||
        call_path_keys(tree, way->node).inner != call_path_own_key(tree, own->node))
        return;
    add_name(words, way->caller);
    text_add(words, " > ");
}

unsigned where_add_own(struct call_tree *tree, const struct call_path *own,
                       const struct call_path *ways, size_t n, int64_t all_ns, struct text *words)
{
    uint32_t key = call_path_own_key(tree, own->node);
    unsigned told = 0;
    size_t parts = 0;
    add_percent(words, share_of(own->ns, all_ns));
    text_add(words, " in ");
    add_caller(tree, own, &ways[0], words);
    add_name(words, own->caller);
    for (size_t i = 0; i < n; i++) {
        struct text below = {0};
        if (call_path_own_key(tree, ways[i].node) != key)
            continue;
        add_way_below(tree, &below, &ways[i], key);
        if (below.len) {
            text_add(words, parts++ ? ", " : " (");
            add_percent(words, share_of(ways[i].ns, all_ns));
            text_addf(words, " %s", below.s);
        }
        text_release(&below);
        told |= 1U << i;
    }
    text_add(words, parts ? ")" : "");
    return told;
}

static uint32_t told_node(struct call_tree *tree, const struct where *w)
{
    uint32_t own = w->own.ns ? call_path_own_key(tree, w->own.node) : 0;
    for (size_t i = 0; i < w->n; i++)
        if (!own || call_path_own_key(tree, w->ways[i].node) == own)
            return w->ways[i].node;
    return 0;
}

bool where_of(struct tally *t, struct where *ret)
{
    *ret = (struct where){.all_ns = t->all_ns};
    ret->n = call_paths_heaviest(t, ret->ways, WHERE_MAX_WAYS);
    if (!ret->n)
        return false;
    ret->ns = call_path_call_ns(t, &ret->ways[0]);
    ret->own = where_own(t, &ret->ways[0], ret->ns);
    ret->ns = ret->own.ns ? ret->own.ns : ret->ns;
    ret->node = told_node(t->tree, ret);
    return true;
}

void where_release(struct where *w)
{
    for (size_t i = 0; i < w->n; i++)
        call_path_release(&w->ways[i]);
    call_path_release(&w->own);
    w->n = 0;
}

double where_share(const struct where *w)
{
    return share_of(w->ns, w->all_ns);
}

void where_add(struct call_tree *tree, const struct where *w, struct text *words)
{
    if (w->own.ns) {
        (void)where_add_own(tree, &w->own, w->ways, w->n, w->all_ns, words);
        return;
    }
    add_percent(words, where_share(w));
    text_add(words, " in ");
    add_way(words, &w->ways[0]);
}
