#include "cli/dump_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "cli/dump_task.h"

enum { MOST_FOLDS = 16, INDENT = 6 };

/* ---- reading ---- */

void dump_tasks_read(struct dump *d, const struct process_set *processes)
{
    task_list_add(&d->tasks, processes);
    for (size_t i = 0; i < d->tasks.n; i++) {
        const struct listed_task *t = &d->tasks.items[i];
        map_put(&d->tasks_by_address, dump_task_key(t->process, t->task), i);
    }
}

static size_t thread_of(const struct dump *d, const struct listed_task *t)
{
    for (size_t i = 0; t->thread_state && i < d->n; i++) {
        const struct dump_thread *thread = &d->threads[i];
        if (profile_see_thread(d->profile, thread->thread)->process.ix != t->process.ix)
            continue;
        for (size_t j = 0; j < SNAPSHOT_HOOK_WORDS && thread->python_threads[j]; j++)
            if (thread->python_threads[j] == t->thread_state)
                return i;
    }
    return SIZE_MAX;
}

void dump_tasks_link(struct dump *d)
{
    d->task_threads = xcalloc(d->tasks.n + 1, sizeof *d->task_threads);
    for (size_t i = 0; i < d->tasks.n; i++) {
        const struct listed_task *t = &d->tasks.items[i];
        const struct listed_task *before = i ? t - 1 : NULL;
        bool same = before && before->thread_state == t->thread_state &&
                    before->process.ix == t->process.ix;
        d->task_threads[i] = same ? d->task_threads[i - 1] : thread_of(d, t);
    }
}

void dump_tasks_release(struct dump *d)
{
    task_list_release(&d->tasks);
    map_release(&d->tasks_by_address);
    free(d->task_threads);
}

/* ---- folding ---- */

struct fold {
    char *words;  /* what they do, without what tells them apart */
    size_t first; /* of the dump's tasks */
    size_t n;
    uint64_t owner; /* of the first, dump_task_key() */
    bool owners_differ;
};
struct folds { /* zero-initialise */
    struct fold *items;
    size_t n, capacity;
    struct index index;
};

static bool same_words(const void *item, const void *wanted)
{
    return str_eq(((const struct fold *)item)->words, wanted);
}

static void fold_task(struct dump *d, size_t task, bool full, struct folds *all)
{
    const struct listed_task *t = &d->tasks.items[task];
    uint64_t owner = dump_task_key(t->process, t->owner);
    struct text words = {0};
    text_add(&words, "");
    dump_task_add(d, t, full, false, &words);
    uint64_t hash = hash_bytes(words.s, words.len);
    uint32_t at =
        index_find(&all->index, hash, all->items, sizeof *all->items, same_words, words.s);
    if (at == INDEX_NONE) {
        all->items = array_reserve(all->items, &all->capacity, all->n + 1, sizeof *all->items);
        at = (uint32_t)all->n++;
        index_add(&all->index, hash, at);
        all->items[at] = (struct fold){.words = xstrdup(words.s), .first = task, .owner = owner};
    }
    all->items[at].n++;
    all->items[at].owners_differ |= all->items[at].owner != owner;
    text_release(&words);
}

static int by_number(const void *a, const void *b)
{
    const struct fold *x = a;
    const struct fold *y = b;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static void release_folds(struct folds *all)
{
    for (size_t i = 0; i < all->n; i++)
        free(all->items[i].words);
    free(all->items);
    index_release(&all->index);
}

/* ---- words ---- */

/* "1,200" */
static void add_count(size_t n, struct text *out)
{
    if (n >= 1000)
        text_addf(out, "%zu,%03zu", n / 1000, n % 1000);
    else
        text_addf(out, "%zu", n);
}

static void add_name(const struct dump *d, const struct listed_task *t, struct text *out)
{
    enum { MOST_COLUMNS = 32 };
    struct text tame = {0};
    const char *name = t->name.ix ? profile_text(d->profile, t->name) : "?";
    text_add_tame(&tame, name, strlen(name));
    text_add(out, "task ");
    text_add_cut(out, tame.len ? tame.s : "?", tame.len ? tame.len : 1, MOST_COLUMNS);
    text_release(&tame);
}

/* "    1,200 tasks: handle app.py:31 > Queue.get, of one Queue" */
static void add_fold(struct dump *d, const struct fold *f, struct text *out)
{
    const struct listed_task *t = &d->tasks.items[f->first];
    struct text line = {0};
    if (f->n == 1) {
        add_name(d, t, &line);
    } else {
        add_count(f->n, &line);
        text_add(&line, " tasks");
    }
    text_add(&line, ": ");
    if (f->n == 1)
        dump_task_add(d, t, d->style.full, true, &line);
    else
        text_add(&line, f->words);
    if (f->n > 1 && !f->owners_differ && t->type.ix && dump_task_method(d, t)) {
        const char *type = profile_text(d->profile, t->type);
        text_add(&line, ", of one ");
        text_add_tame(&line, type, strlen(type));
    }
    text_add(out, "    ");
    (void)text_add_wrapped(out, line.s, 4, INDENT, d->style.full ? SIZE_MAX : d->style.width);
    text_add(out, "\n");
    text_release(&line);
}

static void add_folds(struct dump *d, struct folds *all, const char *of, struct text *out)
{
    size_t n = 0;
    size_t more = 0;
    for (size_t i = 0; i < all->n; i++)
        n += all->items[i].n;
    if (n) {
        qsort(all->items, all->n, sizeof *all->items, by_number);
        text_add(out, "  ");
        add_count(n, out);
        text_addf(out, " asyncio task%s%s\n", n == 1 ? "" : "s", of);
    }
    for (size_t i = 0; i < all->n; i++) {
        if (d->style.full || i < MOST_FOLDS)
            add_fold(d, &all->items[i], out);
        else
            more += all->items[i].n;
    }
    if (more) {
        text_add(out, "    ");
        add_count(more, out);
        text_add(out, " more that do other things: --full\n");
    }
}

static bool has_member(const struct dump_fold *g, size_t thread)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->members[i] == thread)
            return true;
    return false;
}

void dump_tasks_add(struct dump *d, const struct dump_fold *g, struct text *out)
{
    struct folds all = {0};
    size_t last = SIZE_MAX;
    bool was = false;
    for (size_t i = 0; i < d->tasks.n; i++) {
        size_t thread = d->task_threads[i];
        if (thread == SIZE_MAX)
            continue;
        if (thread != last)
            was = has_member(g, thread);
        last = thread;
        if (was)
            fold_task(d, i, d->style.full, &all);
    }
    add_folds(d, &all, "", out);
    release_folds(&all);
}

void dump_tasks_add_rest(struct dump *d, struct text *out)
{
    struct folds all = {0};
    for (size_t i = 0; i < d->tasks.n; i++)
        if (d->task_threads[i] == SIZE_MAX)
            fold_task(d, i, d->style.full, &all);
    add_folds(d, &all, " of event loops that no thread runs", out);
    release_folds(&all);
    if (d->tasks.n_moved)
        text_addf(out, "%zu asyncio task%s moved on while being read: not shown\n",
                  d->tasks.n_moved, d->tasks.n_moved == 1 ? "" : "s");
    if (d->tasks.n_more)
        text_add(out, "not all asyncio tasks were read: at most 10,000 of a process, for 2 s\n");
}
