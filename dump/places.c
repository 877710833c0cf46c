#include "dump/places.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/share.h"
#include "summary/path_words.h"
#include "summary/spinning.h"
#include "summary/where.h"

enum { LEAST_PART = 10 }; /* of a place: one in so many */

struct dump_places {
    const struct profile *profile;
    struct view *view;
    struct call_tree *tree;
};

struct dump_places *dump_places_new(const struct profile *profile,
                                    const struct view_options *options)
{
    struct dump_places *p = xcalloc(1, sizeof *p);
    struct view_options view = *options;
    view.lines = view.whole = view.internals = false;
    p->profile = profile;
    p->view = view_new(profile, &view);
    p->tree = call_tree_new(profile, p->view);
    return p;
}

struct dump_places *dump_places_free(struct dump_places *p)
{
    if (!p)
        return NULL;
    call_tree_free(p->tree);
    view_free(p->view);
    free(p);
    return NULL;
}

bool dump_places_moved(struct dump_places *p, const struct dump_thread *t)
{
    const struct profile_thread *thread = profile_see_thread(p->profile, t->thread);
    uint32_t first = 0;
    for (size_t i = 0; i < thread->n_runs; i++) {
        uint32_t node = call_tree_of(p->tree, thread->runs[i].at);
        if (node && first && node != first)
            return true;
        first = node ? node : first;
    }
    return false;
}

/* Also of one that waited for a CPU while it spun. */
static bool spins_at(struct dump_places *p, struct spot at)
{
    size_t n = 0;
    const struct shown_frame *stack = view_stack(p->view, at, &n);
    const struct shown_frame *leaf = n ? &stack[n - 1] : NULL;
    bool off_cpu = leaf && leaf->kind == SHOWN_WAIT && !leaf->spins;
    return leaf && (leaf->spins || (off_cpu && spinning_of(stack, n - 1)));
}

bool dump_places_spun(struct dump_places *p, const struct dump_thread *t)
{
    const struct profile_thread *thread = profile_see_thread(p->profile, t->thread);
    uint64_t looks = 0;
    for (size_t i = 0; i < thread->n_runs; i++) {
        const struct run *run = &thread->runs[i];
        if (run->state == RUN_MISSED)
            continue;
        bool on = run->state == RUN_RUNNING || run->state == RUN_RUNNABLE ||
                  run->state == RUN_RUNNING_OR_RUNNABLE;
        if (!on || !spins_at(p, run->at))
            return false;
        looks += run->samples;
    }
    return looks > 1;
}

static bool have_moved(struct dump_places *p, const struct dump *d, const size_t *members, size_t n)
{
    size_t i = 0;
    while (i < n && !dump_places_moved(p, &d->threads[members[i]]))
        i++;
    return i < n;
}

/* "80% in work a.py:9 (40% topk, 30% sort), 10% in load b.py:3": where T's time was. */
static void add_ways(struct tally *t, const struct where *w, struct text *out)
{
    unsigned told = 0;
    if (w->own.ns)
        told = where_add_own(t->tree, &w->own, w->ways, w->n, t->all_ns, out);
    for (size_t i = 0; i < w->n; i++) {
        if (told >> i & 1 || LEAST_PART * w->ways[i].ns < t->all_ns)
            continue;
        text_add(out, out->len ? ", " : "");
        add_percent(out, share_of(w->ways[i].ns, t->all_ns));
        text_add(out, " in ");
        add_way(out, &w->ways[i]);
    }
    if (out->len && LEAST_PART * t->idle_ns >= t->all_ns) { /* a loop's, or a pool's */
        text_add(out, ", ");
        add_percent(out, share_of(t->idle_ns, t->all_ns));
        text_add(out, " idle");
    }
}

/* Was T, as its last look has it, in the only place of W? */
static bool is_shown(struct dump_places *p, const struct where *w, const struct dump_thread *t)
{
    const struct call_path_keys told = call_path_keys(p->tree, w->ways[0].node);
    const struct call_path_keys last = call_path_keys(p->tree, call_tree_of(p->tree, t->at));
    return w->n == 1 && call_path_same(&told, &last);
}

void dump_places_add(struct dump_places *p, const struct dump *d, const size_t *members, size_t n,
                     struct text *out)
{
    struct tally tally;
    struct where where;
    if (!have_moved(p, d, members, n))
        return;
    tally_init(&tally, p->tree, TALLY_ALL);
    for (size_t i = 0; i < n; i++)
        tally_add_thread(&tally, profile_see_thread(p->profile, d->threads[members[i]].thread));
    if (where_of(&tally, &where)) {
        bool idles = LEAST_PART * tally.idle_ns >= tally.all_ns;
        if (idles || !is_shown(p, &where, &d->threads[members[0]]))
            add_ways(&tally, &where, out);
        where_release(&where);
    }
    tally_release(&tally);
}
