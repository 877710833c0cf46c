#include "cli/brief.h"

#include <string.h>

#include "base/share.h"
#include "summary/table.h"

enum {
    LEAST_ROWS = 3, /* with their heading */
    MORE_LINES = 2, /* of a finding but the first, whose end says what to do */
    LABEL_COLUMNS = 28,
};

static size_t count_lines(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == '\n';
    return n;
}

void brief_add_line(const char *words, size_t lines, struct text *out)
{
    struct text wrapped = {0};
    (void)text_add_wrapped(&wrapped, words, 0, 0, BRIEF_COLUMNS - 1); /* and a "…" */
    char *end = wrapped.s;
    for (size_t i = 0; end && i < lines; i++)
        end = strchr(end + (i > 0), '\n');
    if (end)
        text_truncate(&wrapped, (size_t)(end - wrapped.s));
    text_addf(out, "%s%s\n", wrapped.len ? wrapped.s : "", end ? "…" : "");
    text_release(&wrapped);
}

size_t brief_lines_of(const char *words, size_t lines)
{
    struct text added = {0};
    brief_add_line(words, lines, &added);
    size_t n = count_lines(added.s);
    text_release(&added);
    return n;
}

static void add_findings(const struct findings *f, size_t lines, struct text *out)
{
    size_t left = lines - LEAST_ROWS;
    for (size_t i = 0; i < f->n_printed && left; i++) {
        size_t before = count_lines(out->s);
        size_t most = i ? MORE_LINES : left;
        brief_add_line(f->printed[i]->words, most < left ? most : left, out);
        left -= count_lines(out->s) - before;
    }
}

/* PATH's first FIRST parts and its last one, each in at most MOST columns. */
static void add_parts(const struct table_path *path, size_t first, size_t most, struct text *out)
{
    for (size_t i = 0; i < first; i++) {
        short_name_add(out, path->parts[i], most);
        text_add(out, " > ");
    }
    text_add(out, first + 1 < path->n ? "… > " : "");
    short_name_add(out, path->parts[path->n - 1], most);
}

/* "50% step train.py:5 > … > [condition]": where there is no room parts between the ends go, then
 * names become shorter. */
static void add_path(const struct table_row *row, size_t columns, struct text *out)
{
    static const size_t widths[] = {34, 24, 18, 12};
    const struct table_path *path = &row->paths[0];
    size_t first = path->n - 1;
    size_t width = 0;
    struct text words = {0};
    for (;;) {
        text_clear(&words);
        text_addf(&words, "%d%% ", percent_of(path->ns, row->wall_ns));
        add_parts(path, first, widths[width], &words);
        if (utf8_columns(words.s, words.len) <= columns)
            break;
        if (first > 1)
            first--;
        else if (++width == sizeof widths / sizeof *widths)
            break;
    }
    text_add_cut(out, words.s, words.len, columns);
    text_release(&words);
}

/* "  main 4687  20/1/79%  50% step train.py:5 > [condition]" */
static void add_row(const struct table_row *row, struct text *out)
{
    struct text line = {0};
    int run = percent_of(row->cpu_ns, row->wall_ns);
    int waiting = percent_of(row->cpu_ns + row->runqueue_ns, row->wall_ns) - run;
    text_add(&line, "  ");
    short_label_add(&line, row->label, &row->shape, LABEL_COLUMNS);
    text_addf(&line, "  %d/%d/%d%%  ", run, waiting, 100 - run - waiting);
    size_t columns = BRIEF_COLUMNS - utf8_columns(line.s, line.len);
    const char *words = row->idle ? row->idle : row->others;
    if (words) {
        struct text said = {0};
        text_addf(&said, "%s%s", row->idle ? "idle: " : "", words);
        text_add_cut(&line, said.s, said.len, columns);
        text_release(&said);
    } else if (row->n_paths && row->paths[0].n) {
        add_path(row, columns, &line);
    } else if (row->idle_ns > 0) {
        text_addf(&line, "%d%% idle", percent_of(row->idle_ns, row->wall_ns));
    }
    while (line.s[line.len - 1] == ' ')
        text_truncate(&line, line.len - 1);
    text_addf(out, "%s\n", line.s);
    text_release(&line);
}

void brief_add(const struct groups *g, const struct findings *f, size_t lines, struct text *out)
{
    struct table table;
    struct text all = {0};
    text_add(&all, "");
    add_findings(f, lines, &all);
    table_init(&table, g, lines - count_lines(all.s) - 1);
    if (table.n)
        text_addf(&all, "thread  run/wait-cpu/%s  where its time goes\n",
                  table.partial ? "rest" : "blocked");
    for (size_t i = 0; i < table.n; i++)
        add_row(&table.rows[i], &all);
    text_add(out, all.s);
    table_release(&table);
    text_release(&all);
}
