#include "cli/dump_heads.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/dump_fold.h"
#include "cli/dump_wait_words.h"
#include "cli/dump_words.h"
#include "dump/thread.h"

enum {
    ALIKE = 3,       /* so many processes of one program are one line */
    MOST_NAMED = 3,  /* of those that do the same */
    MOST_STATES = 4, /* of alike processes; the rarest, and the most frequent */
};

/* ---- which processes ---- */

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

static struct dump_fold *line_for(struct dump_folds *lines, const char *command)
{
    struct text merged = {0};
    for (size_t i = 0; i < lines->n; i++)
        if (merge_commands(lines->items[i].words, command, &merged)) {
            free(lines->items[i].words);
            lines->items[i].words = merged.s;
            return &lines->items[i];
        }
    text_release(&merged);
    return dump_folds_begin(lines, command);
}

static const struct profile_process *process_of(const struct dump *d, size_t thread)
{
    return profile_see_process(d->profile, dump_thread_process(d, &d->threads[thread]));
}

static const char *command_of(const struct dump *d, size_t thread)
{
    return profile_text(d->profile, process_of(d, thread)->command);
}

/* Folds the processes that run one program with the same arguments, but for numbers: the words are
 * "train.py --local_rank=*", the members their first threads. */
static void find_lines(const struct dump *d, struct dump_folds *lines)
{
    for (size_t i = 0; i < d->n; i = dump_next_process(d, i))
        dump_fold_join(line_for(lines, command_of(d, i)), i);
}

/* ---- one line for each ---- */

struct thread_count {
    size_t threads, ran, unknown;
};

static struct thread_count count_threads(const struct dump *d, const struct dump_fold *f)
{
    struct thread_count c = {0};
    for (size_t k = 0; k < f->n; k++) {
        size_t end = dump_next_process(d, f->members[k]);
        for (size_t i = f->members[k]; i < end; i++) {
            const struct dump_thread *t = &d->threads[i];
            c.threads++;
            c.ran += t->ran;
            c.unknown += !t->ran && (!t->counted || t->ended);
        }
    }
    return c;
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

static bool fits(const struct dump *d, const struct text *line, const struct text *who)
{
    return text_columns(line, 0) + 2 + text_columns(who, 0) <= d->style.width;
}

/* "28095 ./dead: 5 threads, none of them ran in the 0.5 s of this look", or "64 x ./dead: …" */
static void add_line(const struct dump *d, const struct dump_fold *f, const char *command,
                     struct text *out)
{
    const struct profile_process *p = process_of(d, f->members[0]);
    long rank = dump_thread_rank(d, &d->threads[f->members[0]]);
    struct thread_count c = count_threads(d, f);
    struct text who = {0};
    struct text line = {0};
    if (f->n > 1)
        text_addf(&line, "%zu x ", f->n);
    else
        text_addf(&line, "%d ", p->pid);
    if (f->n == 1 && rank >= 0 && profile_process_count(d->profile) > 1)
        text_addf(&line, "rank%ld ", rank);
    size_t start = line.len;
    text_add_tame(&line, command, strlen(command));
    add_who_ran(d, &c, f->n == 1 ? proc_thread_count(p->pid) : 0, &who);
    if (d->style.full && p->python_version.ix) {
        const char *version = profile_text(d->profile, p->python_version);
        text_add(&who, "; CPython ");
        text_add_tame(&who, version, strlen(version));
    }
    if (!fits(d, &line, &who) && !d->style.full)
        shorten_program(&line, start);
    text_add_cut(out, line.s, line.len, d->style.full ? line.len : d->style.width - 1);
    text_addf(out, fits(d, &line, &who) ? ": %s\n" : ":\n  %s\n", who.s);
    text_release(&who);
    text_release(&line);
}

/* ---- alike processes ---- */

/* What a main thread does; EXACT: with the line that it is in. */
static void say_state(const struct dump *d, const struct dump_thread *t, bool exact,
                      struct text *out)
{
    dump_words_state(d, t, false, out);
    dump_words_place(d, t, exact, out);
}

/* "  rank 13: in read of /data/x, load_batch train.py:5" */
static void add_state_line(const struct dump *d, const struct dump_fold *f, bool ranks,
                           struct text *out)
{
    struct text state = {0};
    text_add(out, "  ");
    if (f->n > MOST_NAMED)
        text_addf(out, "%zu %s", f->n, ranks ? "ranks" : "processes");
    else if (!dump_fold_add_numbers(d, f, DUMP_RANK, "rank ", out))
        (void)dump_fold_add_numbers(d, f, DUMP_PID, "", out);
    text_add(out, ": ");
    (void)dump_fold_say(d, f, say_state, &state);
    dump_words_of_several(f->n, text_str(&state), out);
    text_add(out, "\n");
    text_release(&state);
}

/* Says what the main threads of F's processes do, the rarest first: the others may wait for a
 * process that does something else. */
static void add_main_states(const struct dump *d, const struct dump_fold *f, bool ranks,
                            struct text *out)
{
    struct dump_folds states = {0};
    size_t left_out = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct dump_thread *t = &d->threads[f->members[i]];
        struct text place = {0};
        say_state(d, t, false, &place);
        struct dump_fold *state = dump_folds_add(&states, text_str(&place), f->members[i]);
        state->by_number = 1;
        if (state->n == 1)
            state->order = dump_thread_launches(d, t);
        text_release(&place);
    }
    dump_folds_sort(&states);
    for (size_t i = 0; i < states.n; i++)
        if (i < MOST_STATES - 1 || i + 1 == states.n)
            add_state_line(d, &states.items[i], ranks, out);
        else
            left_out += states.items[i].n;
    if (left_out)
        text_addf(out, "  %zu %s%s: elsewhere\n", left_out, ranks ? "rank" : "process",
                  left_out == 1 ? ""
                  : ranks       ? "s"
                                : "es");
    dump_folds_release(&states);
}

/* "  rank 0-63: 17000-17063", and what their main threads do. */
static void add_alike(const struct dump *d, const struct dump_fold *f, struct text *out)
{
    struct text lines = {0};
    bool ranks = dump_fold_add_numbers(d, f, DUMP_RANK, "  rank ", &lines);
    (void)dump_fold_add_numbers(d, f, DUMP_PID, ranks ? ": " : "  ", &lines);
    text_add(&lines, "\n");
    add_main_states(d, f, ranks, &lines);
    (void)text_add_wrapped(out, lines.s, 0, 4, d->style.width);
    text_release(&lines);
}

static void add_each(const struct dump *d, const struct dump_fold *f, struct text *out)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct dump_fold one = {.members = &f->members[i], .n = 1};
        add_line(d, &one, command_of(d, f->members[i]), out);
    }
}

void dump_heads_add(const struct dump *d, struct text *out)
{
    struct dump_folds lines = {0};
    struct text wrong = {0};
    find_lines(d, &lines);
    for (size_t i = 0; i < lines.n; i++) {
        if (lines.items[i].n < ALIKE) {
            add_each(d, &lines.items[i], out);
        } else {
            add_line(d, &lines.items[i], lines.items[i].words, out);
            add_alike(d, &lines.items[i], out);
        }
    }
    dump_folds_release(&lines);
    dump_wait_words_add_faults(d, &wrong);
    (void)text_add_wrapped(out, text_str(&wrong), 0, 12, d->style.width);
    text_release(&wrong);
}
