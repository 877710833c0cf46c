#include "cli/dump_heads.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/dump_waits.h"
#include "cli/dump_words.h"
#include "cli/number_ranges.h"

enum {
    ALIKE = 3,       /* so many processes of one program are one line */
    MOST_NAMED = 3,  /* of those that do the same */
    MOST_STATES = 4, /* of alike processes; the rarest, and the most frequent */
};

/* The processes that run one program with the same arguments, but for numbers. */
struct process_line {
    size_t *firsts; /* of each process its first thread, in the dump's order */
    size_t n, capacity;
    struct text command; /* "train.py --local_rank=*": with a star for a number that differs */
};
struct process_lines {
    struct process_line *items;
    size_t n, capacity;
};

/* ---- which processes ---- */

static const struct profile_process *process_of(const struct dump *d, size_t thread)
{
    const struct profile_thread *t = profile_see_thread(d->profile, d->threads[thread].thread);
    return profile_see_process(d->profile, t->process);
}

static bool is_first(const struct dump *d, size_t i)
{
    return i == 0 || d->threads[i - 1].pid != d->threads[i].pid;
}

static const char *command_of(const struct dump *d, size_t thread)
{
    return profile_text(d->profile, process_of(d, thread)->command);
}

/* Is COMMAND like KNOWN but for numbers, such as that of a rank or of a worker's pipe?  RET then is
 * KNOWN with a star for each that differs. */
static bool merge_commands(const char *known, const char *command, struct text *ret)
{
    static const char digits[] = "0123456789";
    text_clear(ret);
    text_add(ret, "");
    while (*known && *command) {
        size_t n = strspn(command, digits);
        size_t known_n = *known == '*' && n ? 1 : strspn(known, digits);
        if (!n != !known_n || (!n && *known != *command))
            return false;
        if (!n)
            n = known_n = 1;
        bool same = n == known_n && !memcmp(known, command, n);
        text_add_bytes(ret, same ? known : "*", same ? n : 1);
        known += known_n;
        command += n;
    }
    return *known == *command;
}

static struct process_line *line_for(struct process_lines *h, const char *command)
{
    struct text merged = {0};
    size_t i = 0;
    while (i < h->n && !merge_commands(h->items[i].command.s, command, &merged))
        i++;
    if (i == h->n) {
        h->items = array_reserve(h->items, &h->capacity, h->n + 1, sizeof *h->items);
        h->items[h->n++] = (struct process_line){0};
        text_clear(&merged);
        text_add(&merged, command);
    }
    text_release(&h->items[i].command);
    h->items[i].command = merged;
    return &h->items[i];
}

static void add_process(struct process_lines *h, const char *command, size_t thread)
{
    struct process_line *alike = line_for(h, command);
    alike->firsts =
        array_reserve(alike->firsts, &alike->capacity, alike->n + 1, sizeof *alike->firsts);
    alike->firsts[alike->n++] = thread;
}

static void find_lines(const struct dump *d, struct process_lines *h)
{
    for (size_t i = 0; i < d->n; i++)
        if (is_first(d, i))
            add_process(h, command_of(d, i), i);
}

static void release(struct process_lines *h)
{
    for (size_t i = 0; i < h->n; i++) {
        text_release(&h->items[i].command);
        free(h->items[i].firsts);
    }
    free(h->items);
}

/* ---- one line for each ---- */

struct thread_count {
    size_t threads, ran, unknown;
};

static void count_threads(const struct dump *d, size_t first, struct thread_count *c)
{
    for (size_t i = first; i < d->n && d->threads[i].pid == d->threads[first].pid; i++) {
        c->threads++;
        c->ran += d->threads[i].ran;
        c->unknown += !d->threads[i].ran && (!d->threads[i].counted || d->threads[i].ended);
    }
}

/* "2 threads, none of them ran in …"; "2 of 50 threads, …" of a process ALL, 0: of several, or
 * unknown. */
static void add_who_ran(const struct dump *d, const struct thread_count *c, uint64_t all,
                        struct text *out)
{
    text_addf(out, "%zu ", c->threads);
    if (d->style.filtered && all > c->threads)
        text_addf(out, "of %llu threads", (unsigned long long)all);
    else
        text_addf(out, "thread%s", c->threads == 1 ? "" : "s");
    if (c->unknown)
        return; /* who knows */
    if (c->threads == 1)
        text_addf(out, ", which %s", c->ran ? "ran" : "did not run");
    else if (!c->ran || c->ran == c->threads)
        text_addf(out, ", %s of them ran", c->ran ? "all" : "none");
    else
        text_addf(out, ", %zu of them ran", c->ran);
    text_add(out, " in the ");
    dump_words_time(d->look_ns, out);
    text_add(out, d->style.twice ? " between two looks" : " of this look");
}

/* "python3 a.py" for "/usr/bin/python3 a.py", which begins at START. */
static void shorten_program(struct text *line, size_t start)
{
    size_t len = strcspn(line->s + start, " ");
    const char *base = memrchr(line->s + start, '/', len);
    if (!base || base + 1 == line->s + start + len)
        return;
    char *rest = xstrdup(base + 1);
    text_truncate(line, start);
    text_add(line, rest);
    free(rest);
}

/* "28095 ./dead: 5 threads, none of them ran in the 0.5 s of this look", or "64 x ./dead: …" */
static void add_line(const struct dump *d, const struct process_line *alike, size_t n,
                     const size_t *firsts, struct text *out)
{
    const struct profile_process *p = process_of(d, *firsts);
    long rank = dump_thread_rank(d, &d->threads[*firsts]);
    struct thread_count c = {0};
    struct text who = {0};
    struct text line = {0};
    for (size_t i = 0; i < n; i++)
        count_threads(d, firsts[i], &c);
    if (n > 1)
        text_addf(&line, "%zu x ", n);
    else
        text_addf(&line, "%d ", p->pid);
    if (n == 1 && rank >= 0 && profile_process_count(d->profile) > 1)
        text_addf(&line, "rank%ld ", rank);
    size_t start = line.len;
    const char *command = n == 1 ? command_of(d, *firsts) : alike->command.s;
    text_add_tame(&line, command, strlen(command));
    add_who_ran(d, &c, n == 1 ? proc_thread_count(p->pid) : 0, &who);
    if (d->style.full && p->python_version.ix) {
        const char *version = profile_text(d->profile, p->python_version);
        text_add(&who, "; CPython ");
        text_add_tame(&who, version, strlen(version));
    }
    bool fits = utf8_columns(line.s, line.len) + 2 + utf8_columns(who.s, who.len) <= d->style.width;
    if (!fits && !d->style.full) {
        shorten_program(&line, start);
        fits = utf8_columns(line.s, line.len) + 2 + utf8_columns(who.s, who.len) <= d->style.width;
    }
    text_add_cut(out, line.s, line.len, d->style.full ? line.len : d->style.width - 1);
    text_addf(out, fits ? ": %s\n" : ":\n  %s\n", who.s);
    text_release(&who);
    text_release(&line);
}

/* ---- alike processes ---- */

/* Appends "rank 0-12, 14" and true if all N processes have a rank; else nothing. */
static bool add_ranks(const struct dump *d, const size_t *firsts, size_t n, size_t most,
                      struct text *out)
{
    long *ranks = xcalloc(n, sizeof *ranks);
    size_t known = 0;
    while (known < n && (ranks[known] = dump_thread_rank(d, &d->threads[firsts[known]])) >= 0)
        known++;
    if (known == n) {
        text_add(out, "rank ");
        number_ranges_add(ranks, n, most, out);
    }
    free(ranks);
    return known == n;
}

static void add_pids(const struct dump *d, const size_t *firsts, size_t n, size_t most,
                     struct text *out)
{
    long *pids = xcalloc(n, sizeof *pids);
    for (size_t i = 0; i < n; i++)
        pids[i] = d->threads[firsts[i]].pid;
    number_ranges_add(pids, n, most, out);
    free(pids);
}

/* The states of the main threads of some alike processes. */
struct main_state {
    struct text place; /* without its line, as which they are compared */
    struct text words;
    size_t *firsts;
    size_t n, capacity;
    bool launches;
};

static void add_main_state(const struct dump *d, size_t first, struct main_state *states, size_t *n)
{
    const struct dump_thread *t = &d->threads[first];
    struct main_state made = {.launches = dump_thread_launches(d, t)};
    size_t i = 0;
    text_add(&made.place, "");
    dump_words_state(d, t, false, &made.place);
    text_add(&made.words, made.place.s);
    dump_words_place(d, t, false, &made.place);
    dump_words_place(d, t, true, &made.words);
    while (i < *n && !str_eq(states[i].place.s, made.place.s))
        i++;
    struct main_state *state = &states[i];
    if (i == *n) {
        *state = made;
        ++*n;
    } else {
        if (!str_eq(state->words.s, made.words.s)) {
            text_clear(&state->words);
            text_add(&state->words, state->place.s);
        }
        text_release(&made.place);
        text_release(&made.words);
    }
    state->firsts =
        array_reserve(state->firsts, &state->capacity, state->n + 1, sizeof *state->firsts);
    state->firsts[state->n++] = first;
}

static int by_number(const void *a, const void *b)
{
    const struct main_state *x = a;
    const struct main_state *y = b;
    if (x->launches != y->launches)
        return x->launches ? 1 : -1;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return (x->firsts[0] > y->firsts[0]) - (x->firsts[0] < y->firsts[0]);
}

/* "  rank 13: in read of /data/x, load_batch train.py:5" */
static void add_state_line(const struct dump *d, const struct main_state *state, bool ranks,
                           struct text *out)
{
    text_add(out, "  ");
    if (state->n > MOST_NAMED)
        text_addf(out, "%zu %s", state->n, ranks ? "ranks" : "processes");
    else if (!add_ranks(d, state->firsts, state->n, state->n, out))
        add_pids(d, state->firsts, state->n, state->n, out);
    text_add(out, ": ");
    if (state->n > 1)
        dump_words_plural(state->words.s, out);
    else
        text_add(out, state->words.s);
    text_add(out, "\n");
}

/* Says what ALIKE's main threads do, the rarest first: the others may wait for a process that does
 * something else. */
static void add_main_states(const struct dump *d, const struct process_line *alike, bool ranks,
                            struct text *out)
{
    struct main_state *states = xcalloc(alike->n, sizeof *states);
    size_t n = 0;
    size_t left_out = 0;
    for (size_t i = 0; i < alike->n; i++)
        add_main_state(d, alike->firsts[i], states, &n);
    qsort(states, n, sizeof *states, by_number);
    for (size_t i = 0; i < n; i++) {
        if (i < MOST_STATES - 1 || i + 1 == n)
            add_state_line(d, &states[i], ranks, out);
        else
            left_out += states[i].n;
        free(states[i].firsts);
        text_release(&states[i].place);
        text_release(&states[i].words);
    }
    if (left_out)
        text_addf(out, "  %zu %s%s: elsewhere\n", left_out, ranks ? "rank" : "process",
                  left_out == 1 ? ""
                  : ranks       ? "s"
                                : "es");
    free(states);
}

/* "  rank 0-63: 17000-17063", and what their main threads do. */
static void add_alike(const struct dump *d, const struct process_line *alike, struct text *out)
{
    size_t most = d->style.full ? alike->n : 8;
    struct text lines = {0};
    text_add(&lines, "  ");
    bool ranks = add_ranks(d, alike->firsts, alike->n, most, &lines);
    text_add(&lines, ranks ? ": " : "");
    add_pids(d, alike->firsts, alike->n, most, &lines);
    text_add(&lines, "\n");
    add_main_states(d, alike, ranks, &lines);
    (void)text_add_wrapped(out, lines.s, 0, 4, d->style.width);
    text_release(&lines);
}

void dump_heads_add(const struct dump *d, struct text *out)
{
    struct process_lines lines = {0};
    struct text wrong = {0};
    find_lines(d, &lines);
    for (size_t i = 0; i < lines.n; i++) {
        const struct process_line *alike = &lines.items[i];
        bool fold = alike->n >= ALIKE;
        for (size_t k = 0; k < (fold ? 1 : alike->n); k++)
            add_line(d, alike, fold ? alike->n : 1, &alike->firsts[k], out);
        if (fold)
            add_alike(d, alike, out);
    }
    release(&lines);
    text_add(&wrong, "");
    dump_waits_print(d, &wrong);
    (void)text_add_wrapped(out, wrong.s, 0, 12, d->style.width);
    text_release(&wrong);
}
