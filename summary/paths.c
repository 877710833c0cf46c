#include "summary/paths.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "profile/stack_tree.h"
#include "profile/strings.h"
#include "summary/spot_map.h"

enum { MAX_EXACT_GAPS = 16 };

struct paths {
    struct view *v;
    uint32_t max_depth;
    struct spot_map by_spot; /* path + 1; 0: not looked at */
    uint32_t *ranks;
    struct path_sum *sums; /* NULL until wanted */
    uint32_t n_shortened, cpu_not_sampled;
    struct strings names; /* of added frames: frame = view_frame_count + string id */
    struct stack_tree tree;
    size_t gaps[MAX_EXACT_GAPS], n_gaps; /* how many frames they leave out */
};

static uint32_t push(struct paths *t, uint32_t parent, uint32_t frame)
{
    stack_id above = {parent};
    frame_id f = {frame};
    stack_id found = stack_tree_find(&t->tree, above, f);
    return found.ix ? found.ix : stack_tree_add(&t->tree, above, f).ix;
}

/* Is N one of the first few gaps that there are? */
static bool is_told_exactly(struct paths *t, size_t n)
{
    for (size_t i = 0; i < t->n_gaps; i++)
        if (t->gaps[i] == n)
            return true;
    if (t->n_gaps == MAX_EXACT_GAPS)
        return false;
    t->gaps[t->n_gaps++] = n;
    return true;
}

/* In a recursion of ever new depths each depth would be a path of its own, with all the frames
 * behind the gap.  So most gaps show the first digit of their length only. */
static uint32_t push_gap(struct paths *t, uint32_t parent, size_t n)
{
    struct text name = {0};
    size_t unit = 1;
    while (n / unit >= 10 && !is_told_exactly(t, n))
        unit *= 10;
    text_addf(&name, "[… %zu%s frames]", n / unit * unit, unit > 1 ? "+" : "");
    uint32_t path = push(t, parent, paths_add_frame(t, name.s));
    text_release(&name);
    return path;
}

static void add_spot(struct paths *t, struct spot at)
{
    if (!spot_is_known(at) || spot_map_get(&t->by_spot, at))
        return;
    size_t n = 0;
    const struct shown_frame *frames = view_stack(t->v, at, &n);
    size_t outer = n;
    size_t inner = n;
    if (t->max_depth && n > t->max_depth) {
        outer = t->max_depth / 2;
        inner = n - (t->max_depth - outer - 1);
        t->n_shortened++;
    }
    uint32_t path = 0;
    for (size_t i = 0; i < outer; i++)
        path = push(t, path, frames[i].id);
    if (inner > outer)
        path = push_gap(t, path, inner - outer);
    for (size_t i = inner; i < n; i++)
        path = push(t, path, frames[i].id);
    spot_map_put(&t->by_spot, at, path + 1);
}

static uint32_t *rank_paths(const struct paths *t)
{
    uint32_t n = paths_count(t);
    uint32_t *sizes = xcalloc(n + 1, sizeof *sizes); /* of the subtree */
    uint32_t *next = xcalloc(n + 1, sizeof *next);   /* the rank of the next child */
    uint32_t *ranks = xcalloc(n + 1, sizeof *ranks);
    for (uint32_t path = n; path; path--) {
        sizes[path]++;
        sizes[paths_parent(t, path)] += sizes[path];
    }
    next[0] = 1;
    for (uint32_t path = 1; path <= n; path++) {
        uint32_t parent = paths_parent(t, path);
        ranks[path] = next[parent];
        next[parent] += sizes[path];
        next[path] = ranks[path] + 1;
    }
    free(sizes);
    free(next);
    return ranks;
}

struct paths *paths_new(const struct profile *p, struct view *v, uint32_t max_depth)
{
    struct paths *t = xcalloc(1, sizeof *t);
    const bool *only = view_options(v)->processes;
    assert(max_depth == 0 || max_depth >= 3);
    t->v = v;
    t->max_depth = max_depth;
    spot_map_init(&t->by_spot, p);
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *thread = profile_see_thread(p, (thread_id){i});
        if (only && !only[thread->process.ix])
            continue;
        for (size_t k = 0; k < thread->n_runs; k++)
            add_spot(t, thread->runs[k].at);
        if (thread->not_sampled_ns[COUNTED_CPU] > 0)
            t->cpu_not_sampled = push(t, 0, paths_add_frame(t, "[cpu not sampled]"));
    }
    t->ranks = rank_paths(t);
    return t;
}

uint32_t paths_of(const struct paths *t, struct spot at)
{
    uint32_t known = spot_map_get(&t->by_spot, at);
    return known ? known - 1 : 0;
}

uint32_t paths_cpu_not_sampled(const struct paths *t)
{
    return t->cpu_not_sampled;
}

uint32_t paths_count(const struct paths *t)
{
    return (uint32_t)t->tree.n;
}

uint32_t paths_parent(const struct paths *t, uint32_t path)
{
    return stack_tree_node(&t->tree, (stack_id){path})->parent.ix;
}

uint32_t paths_depth(const struct paths *t, uint32_t path)
{
    return path ? stack_tree_node(&t->tree, (stack_id){path})->depth : 0;
}

uint32_t paths_frame(const struct paths *t, uint32_t path)
{
    return stack_tree_node(&t->tree, (stack_id){path})->frame.ix;
}

uint32_t paths_rank(const struct paths *t, uint32_t path)
{
    return t->ranks[path];
}

struct path_sum *paths_sums(struct paths *t)
{
    if (!t->sums)
        t->sums = xcalloc(paths_count(t) + (size_t)1, sizeof *t->sums);
    return t->sums;
}

uint32_t paths_shortened(const struct paths *t)
{
    return t->n_shortened;
}

uint32_t paths_common_depth(const struct paths *t, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (paths_depth(t, a) >= paths_depth(t, b))
            a = paths_parent(t, a);
        else
            b = paths_parent(t, b);
    }
    return paths_depth(t, a);
}

uint32_t paths_add_frame(struct paths *t, const char *name)
{
    return view_frame_count(t->v) + strings_add(&t->names, name, strlen(name)).ix;
}

struct path_frame paths_see_frame(const struct paths *t, uint32_t frame)
{
    uint32_t n_view = view_frame_count(t->v);
    if (frame > n_view)
        return (struct path_frame){.name = strings_text(&t->names, (string_id){frame - n_view})};
    const struct shown_frame *f = view_frame(t->v, frame);
    bool waits = f->kind == SHOWN_WAIT;
    return (struct path_frame){.name = f->name,
                               .file = f->file,
                               .source = f->source,
                               .line = f->line,
                               .waits = waits,
                               .spins = waits && f->spins};
}

uint32_t paths_frame_count(const struct paths *t)
{
    return view_frame_count(t->v) + (uint32_t)t->names.n;
}

struct paths *paths_free(struct paths *t)
{
    if (!t)
        return NULL;
    spot_map_release(&t->by_spot);
    free(t->ranks);
    free(t->sums);
    strings_release(&t->names);
    stack_tree_release(&t->tree);
    free(t);
    return NULL;
}
