#include "cli/answer.h"

#include <assert.h>
#include <string.h>

/* The table's columns: two spaces, the label, and right-aligned numbers under their headings. */
enum {
    LABEL_MIN = 15,
    LABEL_MAX = 20,
    RUN_COLUMNS = 5,
    WAIT_COLUMNS = 10,
    BLOCKED_COLUMNS = 9,
    PART_MAX = 40,     /* of one name in a path */
    MARKED_BELOW = 90, /* percent of a row's time that were seen */
};

/* Appends S, at most MAX columns of it, the last one then "…". */
static void add_cut(struct text *out, const char *s, size_t len, size_t max)
{
    bool fits = utf8_columns(s, len) <= max;
    text_add_bytes(out, s, fits ? len : utf8_cut(s, len, max - 1));
    text_add(out, fits ? "" : "…");
}

static void add_spaces(struct text *out, size_t n)
{
    text_addf(out, "%*s", (int)n, "");
}

/* Starts a second line for TAIL: under the path if it fits there, else as far left as it must. */
static void add_second_line(struct text *out, const struct text *tail, size_t column, size_t width)
{
    size_t len = utf8_columns(tail->s, tail->len);
    size_t indent = column + len <= width ? column : 4;
    if (indent == 4 && len + 4 <= width)
        indent = width - len;
    text_add(out, "\n");
    add_spaces(out, indent);
    add_cut(out, tail->s, tail->len, width - indent);
}

/* Puts a part of a path into LINE if it fits behind AT, else into TAIL as all that follow.  Returns
 * how many columns the path takes so far. */
static size_t add_part(const struct text *part, bool first, bool last, size_t at, size_t width,
                       struct text *line, struct text *tail)
{
    size_t end = at + utf8_columns(part->s, part->len);
    end += (first ? 0 : strlen(" ")) + (last ? 0 : strlen(" >"));
    if (!tail->len && end <= width)
        text_addf(line, "%s%s%s", first ? "" : " ", part->s, last ? "" : " >");
    else
        text_addf(tail, "%s%s", tail->len ? " > " : "", part->s);
    return end;
}

/* Appends the path of ROW, which begins at COLUMN behind a head of USED columns, in at most two
 * lines. */
static void add_path(const struct table_row *row, size_t column, size_t used, size_t width,
                     struct text *out)
{
    struct text part = {0};
    struct text tail = {0};
    size_t at = column + used;
    size_t room = width - at - strlen(" >"); /* for the first part */
    for (size_t i = 0; i < row->n_parts; i++) {
        text_clear(&part);
        add_cut(&part, row->parts[i], strlen(row->parts[i]),
                i > 0 || room > PART_MAX ? PART_MAX : room);
        at = add_part(&part, i == 0, i + 1 == row->n_parts, at, width, out, &tail);
    }
    if (tail.len)
        add_second_line(out, &tail, column, width);
    text_release(&part);
    text_release(&tail);
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

/* What stands before the path of ROW. */
static void add_head(const struct table_row *row, bool partial, struct text *out)
{
    int seen = percent(row->seen_ns, row->wall_ns);
    if (row->idle) {
        text_add(out, "idle: ");
        return;
    }
    if (!partial && seen < MARKED_BELOW)
        text_addf(out, "(%d%% seen) ", seen);
    text_addf(out, "%d%% ", percent(row->path_ns, row->wall_ns));
}

static void add_row(const struct table_row *row, bool partial, size_t label_columns, size_t width,
                    struct text *out)
{
    size_t label_bytes = strlen(row->label);
    size_t label_used = utf8_columns(row->label, label_bytes);
    text_add(out, "  ");
    add_cut(out, row->label, label_bytes, label_columns);
    add_spaces(out, label_used < label_columns ? label_columns - label_used : 0);
    add_shares(row, out);
    if (row->n_parts) {
        text_add(out, "  ");
        size_t before = out->len;
        add_head(row, partial, out);
        size_t column = 2 + label_columns + RUN_COLUMNS + WAIT_COLUMNS + BLOCKED_COLUMNS + 2;
        add_path(row, column, out->len - before, width, out);
    }
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
    enum { HEADING_COLUMNS = 61 }; /* behind the labels, with the words in brackets */
    size_t limit = (size_t)width;
    size_t label = label_columns(t);
    assert(width >= ANSWER_MIN_WIDTH);
    if (!t->n)
        return;
    text_addf(out, "  %-*s%*s%*s%*s  biggest path%s\n", (int)label, "thread", RUN_COLUMNS, "run",
              WAIT_COLUMNS, "wait-cpu", BLOCKED_COLUMNS, t->partial ? "rest" : "blocked",
              label + HEADING_COLUMNS <= limit ? " (% of its wall time)" : "");
    for (size_t i = 0; i < t->n; i++)
        add_row(&t->rows[i], t->partial, label, limit, out);
}
