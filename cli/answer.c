#include "cli/answer.h"

#include <assert.h>
#include <string.h>

#include "summary/short_name.h"

/* The table's columns: two spaces, the label, and right-aligned numbers under their headings. */
enum {
    LABEL_MIN = 10,
    LABEL_MAX = 20,
    RUN_COLUMNS = 5,
    WAIT_COLUMNS = 10,
    BLOCKED_COLUMNS = 9,
    SHOWN_IDLE = 5,    /* percent */
    MARKED_BELOW = 90, /* percent of a row's time that were seen */
};

static void add_spaces(struct text *out, size_t n)
{
    text_addf(out, "%*s", (int)n, "");
}

/* Appends PATH between the columns FIRST and WIDTH, which the text is at; more lines begin
 * there. */
static void add_path(const struct table_path *path, size_t first, size_t width, struct text *out)
{
    static const char more[] = " >";
    size_t at = first;
    struct text part = {0};
    for (size_t i = 0; i < path->n; i++) {
        const char *end = i + 1 < path->n ? more : "";
        text_clear(&part);
        short_name_add(&part, path->parts[i], width - first - strlen(end));
        size_t columns = utf8_columns(part.s, part.len) + strlen(end);
        bool fits = at + (i > 0) + columns <= width;
        if (!fits) {
            text_add(out, "\n");
            add_spaces(out, first);
            at = first;
        }
        text_addf(out, "%s%s%s", fits && i ? " " : "", part.s, end);
        at += (fits && i) + columns;
    }
    text_release(&part);
}

static int percent(int64_t part_ns, int64_t whole_ns)
{
    return whole_ns > 0 ? (int)(((double)part_ns * 100 / (double)whole_ns) + 0.5) : 0;
}

static void add_shares(const struct table_row *row, struct text *out)
{
    int run = percent(row->cpu_ns, row->wall_ns);
    int waiting = percent(row->cpu_ns + row->runqueue_ns, row->wall_ns) - run;
    text_addf(out, "%*d%%%*d%%%*d%%", RUN_COLUMNS - 1, run, WAIT_COLUMNS - 1, waiting,
              BLOCKED_COLUMNS - 1, 100 - run - waiting);
}

/* Appends TEXT between the columns FIRST and WIDTH, which the text is at, in about two lines. */
static void add_words(const char *text, size_t first, size_t width, struct text *out)
{
    struct text cut = {0};
    text_add_cut(&cut, text, strlen(text), 2 * (width - first));
    (void)text_add_wrapped(out, cut.s, first, first, width);
    text_release(&cut);
}

static void add_rate(struct text *out, double rate, const char *what)
{
    if (rate <= 0)
        return;
    text_add(out, out->len ? ", " : "");
    text_add_thousands(out, rate);
    text_addf(out, " %s/s", what);
}

/* "73,000 page faults/s, 20,000 switches/s", if they stand out. */
static void add_events(const struct table_row *row, struct text *out)
{
    add_rate(out, row->events.faults, "page faults");
    add_rate(out, row->events.major_faults, "major page faults");
    add_rate(out, row->events.switches, "switches");
    if (out->len && row->n_threads > 1)
        text_add(out, " in each thread");
}

/* The column of the paths, from column FIRST on. */
static void add_where(const struct table_row *row, bool partial, size_t first, size_t width,
                      struct text *out)
{
    int seen = percent(row->seen_ns, row->wall_ns);
    int idle = percent(row->idle_ns, row->wall_ns);
    struct text words = {0};
    size_t lines = 0;
    if (row->idle)
        text_addf(&words, "idle: %s", row->idle);
    else if (row->others)
        text_add(&words, row->others);
    else if (idle >= SHOWN_IDLE)
        text_addf(&words, "%d%% idle", idle);
    if (!row->idle && !partial && row->n_paths && seen < MARKED_BELOW)
        text_addf(&words, "%s(%d%% seen)", words.len ? " " : "", seen);
    if (words.len) {
        add_words(words.s, first, width, out);
        lines++;
    }
    for (size_t i = 0; i < row->n_paths; i++) {
        if (lines++) {
            text_add(out, "\n");
            add_spaces(out, first);
        }
        int share = percent(row->paths[i].ns, row->wall_ns);
        text_addf(out, "%2d%% ", share);
        add_path(&row->paths[i], first + strlen(share < 100 ? "99% " : "100% "), width, out);
    }
    text_clear(&words);
    add_events(row, &words);
    if (words.len) {
        text_add(out, lines ? "\n" : "");
        add_spaces(out, lines ? first : 0);
        add_words(words.s, first, width, out);
    }
    text_release(&words);
}

static void add_row(const struct table_row *row, bool partial, size_t label_columns, size_t width,
                    struct text *out)
{
    size_t column = 2 + label_columns + RUN_COLUMNS + WAIT_COLUMNS + BLOCKED_COLUMNS + 2;
    size_t before = out->len;
    text_add(out, "  ");
    short_label_add(out, row->label, &row->shape, label_columns);
    size_t used = utf8_columns(out->s + before, out->len - before) - 2;
    add_spaces(out, used < label_columns ? label_columns - used : 0);
    add_shares(row, out);
    text_add(out, "  ");
    add_where(row, partial, column, width, out);
    while (out->s[out->len - 1] == ' ')
        text_truncate(out, out->len - 1);
    text_add(out, "\n");
}

static size_t label_columns(const struct table *t)
{
    size_t ret = LABEL_MIN;
    for (size_t i = 0; i < t->n; i++) {
        size_t need = utf8_columns(t->rows[i].label, strlen(t->rows[i].label));
        ret = need > ret ? need : ret;
    }
    return ret < LABEL_MAX ? ret : LABEL_MAX;
}

void answer_write(const struct table *t, int width, struct text *out)
{
    size_t limit = (size_t)width;
    size_t label = label_columns(t);
    assert(width >= ANSWER_MIN_WIDTH);
    if (!t->n)
        return;
    text_addf(out, "  %-*s%*s%*s%*s  where its time goes\n", (int)label, "thread", RUN_COLUMNS,
              "run", WAIT_COLUMNS, "wait-cpu", BLOCKED_COLUMNS, t->partial ? "rest" : "blocked");
    for (size_t i = 0; i < t->n; i++)
        add_row(&t->rows[i], t->partial, label, limit, out);
}
