#include "cli/dump_fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "cli/number_ranges.h"
#include "dump/thread.h"

/* ---- folding ---- */

static bool has_words(const void *item, const void *wanted)
{
    return str_eq(((const struct dump_fold *)item)->words, wanted);
}

struct dump_fold *dump_folds_begin(struct dump_folds *f, const char *words)
{
    f->items = array_reserve(f->items, &f->capacity, f->n + 1, sizeof *f->items);
    f->items[f->n] = (struct dump_fold){.words = xstrdup(words)};
    return &f->items[f->n++];
}

void dump_fold_join(struct dump_fold *f, size_t member)
{
    f->members = array_reserve(f->members, &f->capacity, f->n + 1, sizeof *f->members);
    f->members[f->n++] = member;
}

struct dump_fold *dump_folds_add(struct dump_folds *f, const char *words, size_t member)
{
    uint64_t hash = hash_bytes(words, strlen(words));
    uint32_t at = index_find(&f->index, hash, f->items, sizeof *f->items, has_words, words);
    if (at == INDEX_NONE)
        index_add(&f->index, hash, (uint32_t)f->n);
    struct dump_fold *fold = at == INDEX_NONE ? dump_folds_begin(f, words) : &f->items[at];
    dump_fold_join(fold, member);
    return fold;
}

static int in_order(const void *a, const void *b)
{
    const struct dump_fold *x = a;
    const struct dump_fold *y = b;
    if (x->order != y->order)
        return x->order - y->order;
    if (x->n != y->n && x->by_number)
        return x->n < y->n ? -x->by_number : x->by_number;
    return x->members[0] < y->members[0] ? -1 : 1;
}

void dump_folds_sort(struct dump_folds *f)
{
    if (f->n) /* qsort(3) takes no NULL */
        qsort(f->items, f->n, sizeof *f->items, in_order);
}

void dump_folds_release(struct dump_folds *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->items[i].words);
        free(f->items[i].members);
    }
    free(f->items);
    index_release(&f->index);
}

/* ---- what is said of threads together ---- */

/* Sets RET to what SAY says of all of F's threads; false: it says different things. */
static bool agree(const struct dump *d, const struct dump_fold *f, dump_say *say, bool exact,
                  struct text *ret)
{
    struct text other = {0};
    bool same = true;
    text_clear(ret);
    say(d, &d->threads[f->members[0]], exact, ret);
    for (size_t i = 1; i < f->n && same; i++) {
        text_clear(&other);
        say(d, &d->threads[f->members[i]], exact, &other);
        same = str_eq(text_str(ret), text_str(&other));
    }
    text_release(&other);
    return same;
}

bool dump_fold_say(const struct dump *d, const struct dump_fold *f, dump_say *say, struct text *out)
{
    struct text said = {0};
    bool same = agree(d, f, say, true, &said) || agree(d, f, say, false, &said);
    if (same)
        text_add(out, text_str(&said));
    text_release(&said);
    return same;
}

/* Negative: it has none. */
static long number_of(const struct dump *d, const struct dump_thread *t, enum dump_number which)
{
    if (which == DUMP_RANK)
        return dump_thread_rank(d, t);
    return which == DUMP_PID ? t->pid : t->tid;
}

bool dump_fold_add_numbers(const struct dump *d, const struct dump_fold *f, enum dump_number which,
                           const char *before, struct text *out)
{
    long *numbers = xcalloc(f->n, sizeof *numbers);
    size_t n = 0;
    while (n < f->n && (numbers[n] = number_of(d, &d->threads[f->members[n]], which)) >= 0)
        n++;
    if (n == f->n) {
        text_add(out, before);
        number_ranges_add(numbers, n, d->style.full ? n : DUMP_MOST_LISTED, out);
    }
    free(numbers);
    return n == f->n;
}
