#include "summary/slow_code.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "summary/frame_role.h"
#include "summary/known.h"
#include "summary/python_module.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

static const double calls_share = 0.03; /* of the time */
enum { CALL_NS = 300 };                 /* no read or write takes less */
static const double small_bytes = 512;  /* a buffer of a page has many of them */

/* Only the library's own file: others have a statistics.py or a yaml/scanner.py, too. */
static bool is_of(const struct shown_frame *f, const char *path, const struct known_row *row)
{
    if (!known_is_of(row, f) || (f->inlined && row->does >> DOES_BE_INLINED & 1))
        return false;
    return row->place == IN_PYTHON ? path && str_eq(path, row->in)
                                   : frame_role(f, false) != ROLE_OWN;
}

static void add(struct slow_set *set, size_t row)
{
    set->words[row / 64] |= UINT64_C(1) << row % 64;
}

static bool has(const struct slow_set *set, size_t row)
{
    return set->words[row / 64] >> row % 64 & 1;
}

/* Adds what OTHER has.  Returns whether SET has anything then. */
static bool join(struct slow_set *set, const struct slow_set *other)
{
    uint64_t any = 0;
    for (size_t i = 0; i < SLOW_WORDS; i++)
        any |= set->words[i] |= other->words[i];
    return any != 0;
}

/* What a module does when it is imported it does once: that is no row's. */
static struct slow_frame look_at(const struct slow_code *all, const struct shown_frame *f)
{
    struct slow_frame ret = {.rows = {{0}}};
    bool loads = known_does(f, DOES_LOAD);
    bool python = f->kind == SHOWN_PYTHON && f->file;
    const char *path = python ? python_installed_path(f->file) : NULL;
    for (size_t i = 0; i < all->n_rows; i++) {
        const struct known_row *row = all->rows[i];
        if (is_of(f, path, row))
            add(&ret.rows, all->first[i]);
        if (loads || (python && row->unless && path_ends(f->file, row->unless)))
            add(&ret.unless, all->first[i]);
    }
    return ret;
}

static bool say_the_same(const struct known_row *a, const struct known_row *b)
{
    return str_eq(a->slow, b->slow) && str_eq(a->remedy, b->remedy);
}

static void add_row(struct slow_code *all, const struct known_row *row)
{
    size_t first = 0;
    while (first < all->n_rows && !say_the_same(all->rows[first], row))
        first++;
    all->first[all->n_rows] = first;
    all->rows[all->n_rows++] = row;
}

void slow_code_init(struct slow_code *all, const struct view *v)
{
    const struct known_table *t = view_known(v);
    struct slow_set any = {{0}};
    *all = (struct slow_code){.n = view_frame_count(v)};
    for (size_t i = 0; i < t->n && all->n_rows < KNOWN_MOST_SLOW; i++)
        if (t->rows[i].is >> KNOWN_SLOW & 1)
            add_row(all, &t->rows[i]);
    all->items = xcalloc(all->n + (size_t)1, sizeof *all->items);
    for (uint32_t id = 1; id <= all->n; id++) {
        all->items[id] = look_at(all, view_frame(v, id));
        all->any |= join(&any, &all->items[id].rows);
    }
}

void slow_code_release(struct slow_code *all)
{
    free(all->items);
}

static struct slow_set rows_of(const struct slow_code *all, const struct shown_frame *stack,
                               size_t n)
{
    struct slow_set rows = {{0}};
    struct slow_set unless = {{0}};
    for (size_t i = 0; i < n; i++)
        if (stack[i].id <= all->n) {
            (void)join(&rows, &all->items[stack[i].id].rows);
            (void)join(&unless, &all->items[stack[i].id].unless);
        }
    for (size_t i = 0; i < SLOW_WORDS; i++)
        rows.words[i] &= ~unless.words[i];
    return rows;
}

static void add_run(const struct judgement *s, const struct run *run, int64_t *sums,
                    int64_t *all_ns)
{
    size_t n;
    if (run->state == RUN_BLOCKED || run->state == RUN_STOPPED || run->state == RUN_MISSED)
        return;
    const struct shown_frame *stack = view_stack(s->g->v, run->at, &n);
    *all_ns += run->weights.wall_ns;
    struct slow_set rows = rows_of(s->slow, stack, n);
    for (size_t i = 0; i < s->slow->n_rows; i++) {
        /* Who was woken in a system call waits for a CPU there: it takes none. */
        bool woken = run->state == RUN_RUNNABLE && s->slow->rows[i]->place == IN_LIBC;
        sums[i] += has(&rows, i) && !woken ? run->weights.wall_ns : 0;
    }
}

/* " It makes 525,000 reads a second, of 1 byte each on average.", if N calls take much of GROUP's
 * time. */
static void add_calls(const struct thread_group *group, uint64_t n, uint64_t bytes,
                      const char *what, struct text *words)
{
    if ((double)n * CALL_NS < calls_share * (double)group->wall_ns)
        return;
    double each = (double)bytes / (double)n;
    text_addf(words, " %s ", group->plural ? "They make" : "It makes");
    text_add_thousands(words, rule_per_second_of_life(n, group));
    text_addf(words, " %s a second", what);
    if (each < 0.5)
        text_add(words, ", most of which return nothing.");
    else
        text_addf(words, ", of %.0f byte%s each on average%s", each, each < 1.5 ? "" : "s",
                  each < small_bytes ? ": for a file, use a buffer." : ".");
}

struct slow_part slow_code_of(const struct judgement *s, const struct thread_group *group)
{
    int64_t sums[KNOWN_MOST_SLOW] = {0};
    int64_t all_ns = 0;
    size_t best = 0;
    for (size_t i = 0; i < group->n && s->slow->any; i++)
        for (size_t k = 0; k < group->threads[i]->thread->n_runs; k++)
            add_run(s, &group->threads[i]->thread->runs[k], sums, &all_ns);
    for (size_t i = 0; i < s->slow->n_rows; i++)
        best = sums[i] > sums[best] ? i : best;
    double share = share_of(sums[best], all_ns);
    bool is = share > 0 && share >= s->slow->rows[best]->least_share;
    return is ? (struct slow_part){s->slow->rows[best], share} : (struct slow_part){.row = NULL};
}

bool slow_code_has(const struct judgement *s, const struct known_row *row, uint32_t node)
{
    size_t i = 0;
    while (i < s->slow->n_rows && s->slow->rows[i] != row)
        i++;
    for (; i < s->slow->n_rows && node; node = call_tree_node(s->g->tree, node).parent)
        if (has(&s->slow->items[call_tree_node(s->g->tree, node).frame->id].rows,
                s->slow->first[i]))
            return true;
    return false;
}

/* Notes that ROW of GROUP, or its calls, are told.  Returns whether they were told before. */
static bool note_told(struct slow_told *told, const struct thread_group *group,
                      const struct known_row *row)
{
    for (size_t i = 0; i < told->n; i++)
        if (told->items[i].whose == group->threads[0] && told->items[i].row == row)
            return true;
    if (told->n < SLOW_TOLD) {
        told->items[told->n].whose = group->threads[0];
        told->items[told->n++].row = row;
    }
    return false;
}

static void add_part(const struct judgement *s, const struct slow_part *part,
                     const struct thread_group *group, const char *of, struct text *words,
                     struct finding *f)
{
    if (!part->row)
        return;
    add_figure(f, "known_share", part->share);
    if (note_told(s->told, group, part->row))
        return;
    text_addf(words, " %s for ", part->row->slow);
    add_percent(words, part->share);
    text_addf(words, " of %s: %s.", of, part->row->remedy);
}

void add_slow_code(const struct judgement *s, const struct slow_part *part,
                   const struct thread_group *group, const char *of, struct text *words,
                   struct finding *f)
{
    add_part(s, part, group, of, words, f);
    struct profile_usage u = rule_usage_of(group);
    add_figure(f, "reads_per_s", rule_per_second_of_life(u.reads, group));
    add_figure(f, "writes_per_s", rule_per_second_of_life(u.writes, group));
    if (note_told(s->told, group, NULL))
        return;
    add_calls(group, u.reads, u.read_bytes, "reads", words);
    add_calls(group, u.writes, u.written_bytes, "writes", words);
}

double add_slow_code_of(const struct judgement *s, const struct thread_group *other,
                        struct text *words, struct finding *f)
{
    static const double much = 0.3; /* of its time it runs, or could: else it keeps nobody */
    struct text of = {0};
    if (share_of(other->cpu_ns + other->runqueue_ns, other->wall_ns) < much)
        return 0;
    text_addf(&of, other->plural ? "the CPU time of %s" : "%s's CPU time", other->noun);
    struct slow_part part = slow_code_of(s, other);
    add_part(s, &part, other, of.s, words, f);
    text_release(&of);
    return part.share;
}
