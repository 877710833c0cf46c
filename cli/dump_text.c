#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/dump_groups.h"
#include "cli/dump_waits.h"

/* ---- the first lines: each process, and what is wrong ---- */

struct process_count {
    size_t threads, ran, unknown;
};

static struct process_count count_process(const struct dump *d, size_t first)
{
    struct process_count c = {0};
    for (size_t i = first; i < d->n && d->threads[i].pid == d->threads[first].pid; i++) {
        c.threads++;
        c.ran += d->threads[i].ran;
        c.unknown += !d->threads[i].ran && (!d->threads[i].counted || d->threads[i].ended);
    }
    return c;
}

static void add_who_ran(const struct dump *d, const struct process_count *c,
                        const struct dump_style *style, struct text *out)
{
    text_addf(out, "%zu thread%s", c->threads, c->threads == 1 ? "" : "s");
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
    text_add(out, style->twice ? " between two looks" : " of this look");
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

/* "28095 ./dead: 5 threads, none of them ran in the 0.5 s of this look" */
static void add_process(const struct dump *d, size_t first, const struct dump_style *style,
                        struct text *out)
{
    const struct dumped *t = &d->threads[first];
    const struct profile_thread *thread = profile_see_thread(d->profile, t->thread);
    const struct profile_process *p = profile_see_process(d->profile, thread->process);
    const char *command = profile_text(d->profile, p->command);
    struct process_count c = count_process(d, first);
    struct text who = {0};
    struct text line = {0};
    char *process = dumped_process(d, t);
    text_addf(&line, "%d ", p->pid);
    if (str_starts(process, "rank"))
        text_addf(&line, "%s ", process);
    size_t start = line.len;
    text_add_tame(&line, command, strlen(command));
    add_who_ran(d, &c, style, &who);
    if (style->full && p->python_version.ix)
        text_addf(&who, "; CPython %s", profile_text(d->profile, p->python_version));
    bool fits = utf8_columns(line.s, line.len) + 2 + utf8_columns(who.s, who.len) <= style->width;
    if (!fits && !style->full) {
        shorten_program(&line, start);
        fits = utf8_columns(line.s, line.len) + 2 + utf8_columns(who.s, who.len) <= style->width;
    }
    text_add_cut(out, line.s, line.len, style->full ? line.len : style->width - 1);
    text_addf(out, fits ? ": %s\n" : ":\n  %s\n", who.s);
    free(process);
    text_release(&who);
    text_release(&line);
}

/* Wraps each line of LINES; what goes on is indented. */
static void add_lines(const char *lines, size_t width, struct text *out)
{
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        struct text line = {0};
        text_add_bytes(&line, lines, len);
        (void)text_add_wrapped(out, line.s, 0, 12, width);
        text_add(out, "\n");
        text_release(&line);
        lines += len + (lines[len] == '\n');
    }
}

static void add_head(const struct dump *d, const struct dump_style *style, struct text *out)
{
    struct text wrong = {0};
    for (size_t i = 0; i < d->n; i++)
        if (i == 0 || d->threads[i - 1].pid != d->threads[i].pid)
            add_process(d, i, style, out);
    text_add(&wrong, "");
    dump_waits_print(d, &wrong);
    add_lines(wrong.s, style->width, out);
    text_release(&wrong);
}

/* ---- the last lines ---- */

/* "24 frames of libc and libstdc++ not shown: --full" */
static void add_hidden(const size_t hidden[BRIEF_KINDS], struct text *out)
{
    size_t kinds = 0;
    size_t total = 0;
    for (unsigned i = 0; i < BRIEF_KINDS; i++) {
        kinds += hidden[i] > 0;
        total += hidden[i];
    }
    if (!total)
        return;
    text_addf(out, "%zu frame%s of ", total, total == 1 ? "" : "s");
    for (unsigned i = 0, n = 0; i < BRIEF_KINDS; i++)
        if (hidden[i]) {
            n++;
            text_addf(out, "%s%s",
                      n == 1       ? ""
                      : n == kinds ? " and "
                                   : ", ",
                      brief_hidden_name((enum brief_hidden)i));
        }
    text_add(out, " not shown: --full\n");
}

static void add_tail(const struct dump_groups *groups, const struct dump_style *style,
                     struct text *out)
{
    size_t hidden[BRIEF_KINDS] = {0};
    struct text line = {0};
    for (size_t i = 0; i < groups->n; i++)
        for (unsigned k = 0; k < BRIEF_KINDS; k++)
            hidden[k] += groups->items[i].hidden[k];
    text_add(&line, "");
    add_hidden(hidden, &line);
    if (groups->sources.newer) {
        const char *base = path_base(groups->sources.newer);
        struct text name = {0};
        text_add_tame(&name, base, strlen(base));
        text_add_cut(&line, name.len ? name.s : "", name.len, 32);
        text_release(&name);
        text_add(&line, " is newer than the process: its lines are not shown\n");
    }
    add_lines(line.s, style->width, out);
    text_release(&line);
}

/* ---- all ---- */

static int write_block(struct text *block, FILE *out)
{
    size_t len = block->len;
    if (len && fwrite(block->s, 1, len, out) != len)
        return errno ? -errno : -EIO;
    text_clear(block);
    return 0;
}

int dump_text(struct dump *d, const struct dump_style *style, FILE *out)
{
    struct text block = {0};
    struct dump_groups groups = {0};
    dump_groups_find(d, style, &groups);
    add_head(d, style, &block);
    int error = write_block(&block, out);
    for (size_t i = 0; i < groups.n && error == 0; i++) {
        const struct dump_group *g = &groups.items[i];
        dump_groups_add_head(d, g, style, &block);
        text_add(&block, g->stack.s);
        error = write_block(&block, out);
    }
    if (error == 0) {
        add_tail(&groups, style, &block);
        error = write_block(&block, out);
    }
    dump_groups_release(&groups);
    text_release(&block);
    return error;
}
