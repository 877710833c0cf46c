#include "cli/dump_places.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/share.h"
#include "summary/call_path.h"
#include "summary/heaviest_paths.h"
#include "summary/path_words.h"
#include "summary/short_name.h"
#include "summary/spinning.h"

enum {
    MOST_PLACES = 3,
    LEAST_PART = 10, /* of a place: one in so many */
};

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

static bool have_moved(struct dump_places *p, const struct dump *d, const struct dump_fold *f)
{
    size_t i = 0;
    while (i < f->n && !dump_places_moved(p, &d->threads[f->members[i]]))
        i++;
    return i < f->n;
}

static void add_path(const struct call_path *path, double share, struct text *out)
{
    enum { MOST_COLUMNS = 44 };
    const char *parts[CALL_PATH_MAX_PARTS];
    size_t n = call_path_parts(path, parts);
    add_percent(out, share);
    for (size_t i = 0; i < n; i++) {
        text_add(out, i ? " > " : " in ");
        short_name_add(out, parts[i], MOST_COLUMNS);
    }
}

/* The function that NODE's time is said to go to: the user's innermost, or else a library's. */
static uint32_t function_of(struct dump_places *p, uint32_t node)
{
    uint32_t own = call_path_own_key(p->tree, node);
    return own ? own : call_path_keys(p->tree, node).inner;
}

/* Paths to one function become the heaviest of them, which gets the time of all.
 * Returns how many are left. */
static size_t merge(struct dump_places *p, struct call_path *paths, size_t n)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t function = function_of(p, paths[i].node);
        size_t k = 0;
        while (k < left && !(function && function_of(p, paths[k].node) == function))
            k++;
        if (k == left) {
            paths[left++] = paths[i];
        } else {
            paths[k].ns += paths[i].ns;
            call_path_release(&paths[i]);
        }
    }
    return left;
}

/* Is PATH, in which all time was, what the last look at T shows anyway? */
static bool is_shown(struct dump_places *p, const struct call_path *path,
                     const struct dump_thread *t)
{
    uint32_t function = function_of(p, path->node);
    return function && function == function_of(p, call_tree_of(p->tree, t->at));
}

static void add_paths(struct call_path *paths, size_t n, const struct tally *t, struct text *out)
{
    for (size_t i = 0; i < n; i++)
        if (LEAST_PART * paths[i].ns >= t->all_ns) {
            text_add(out, i ? ", " : "");
            add_path(&paths[i], share_of(paths[i].ns, t->all_ns), out);
        }
    if (out->len && LEAST_PART * t->idle_ns >= t->all_ns) { /* a loop's, or a pool's */
        text_add(out, ", ");
        add_percent(out, share_of(t->idle_ns, t->all_ns));
        text_add(out, " idle");
    }
}

void dump_places_add(struct dump_places *p, const struct dump *d, const struct dump_fold *f,
                     struct text *out)
{
    struct call_path paths[MOST_PLACES];
    struct tally tally;
    const struct dump_thread *first = &d->threads[f->members[0]];
    if (!have_moved(p, d, f))
        return;
    tally_init(&tally, p->tree, TALLY_ALL);
    for (size_t i = 0; i < f->n; i++)
        tally_add_thread(&tally, profile_see_thread(p->profile, d->threads[f->members[i]].thread));
    size_t n = merge(p, paths, call_paths_heaviest(&tally, paths, MOST_PLACES));
    bool idles = LEAST_PART * tally.idle_ns >= tally.all_ns;
    if (n > 1 || (n == 1 && (idles || !is_shown(p, paths, first))))
        add_paths(paths, n, &tally, out);
    for (size_t i = 0; i < n; i++)
        call_path_release(&paths[i]);
    tally_release(&tally);
}
