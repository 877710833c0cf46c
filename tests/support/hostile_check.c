#include "tests/support/hostile_check.h"

#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/dump_forms.h"
#include "cli/environment.h"
#include "exporter/exporter.h"
#include "summary/findings.h"
#include "tests/fuzz/check_json.h"
#include "tests/fuzz/check_xml.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/findings_json.h"
#include "tests/support/hostile_stage.h"

enum {
    WIDTH = 79,
    CARD_WIDTH = 410, /* its words stay whole as far as that */
    HEAD_LINES = 16,  /* of a thread or a process in a dump */
};

/* ---- what is left of an output without its names ---- */

/* JSON with "" for each text that is no key. */
static void add_json(struct text *out, const char *s)
{
    while (*s) {
        size_t plain = strcspn(s, "\"");
        text_add_bytes(out, s, plain);
        s += plain;
        size_t len = *s == '"';
        while (len && s[len] && s[len] != '"')
            len += s[len] == '\\' ? 2 : 1;
        if (len && s[len + 1] == ':')
            text_add_bytes(out, s, len + 1);
        else if (len)
            text_add(out, "\"\"");
        s += len + (len > 0);
    }
}

/* Of each line the number of frames, and the weight. */
static void add_folded(struct text *out, const char *s)
{
    for (const char *end; (end = strchr(s, '\n')); s = end + 1) {
        size_t frames = 0;
        const char *weight = end;
        for (const char *at = s; at < end; at++)
            frames += *at == ';';
        while (weight > s && weight[-1] != ' ')
            weight--;
        text_addf(out, "%zu %.*s\n", frames, (int)(end - weight), weight);
    }
}

static void add_count(struct text *out, const char *s, const char *what)
{
    size_t n = 0;
    for (const char *at = s; (at = strstr(at, what)); at++)
        n++;
    text_addf(out, "%zu %s\n", n, what);
}

static void add_svg(struct text *out, const char *s)
{
    static const char *const elements[] = {"<g ", "<rect ", "<title>", "<text ", "<script"};
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        add_count(out, s, elements[i]);
}

/* ---- each output ---- */

static void check_lines(const char *s, size_t len, size_t width)
{
    FUZZ_CHECK(is_plain_text(s, len) && (!len || s[len - 1] == '\n'));
    for (const char *end; (end = strchr(s, '\n')); s = end + 1) {
        bool fits = utf8_columns(s, (size_t)(end - s)) <= width;
        if (!fits)
            (void)fprintf(stderr, "%.300s\n", s);
        FUZZ_CHECK(fits);
    }
}

static void check_file(const struct hostile_stage *stage, const char *format, struct text *shape)
{
    char *s = NULL;
    size_t len = 0;
    struct export_notes notes;
    struct view_options view = {.weights = ~0U};
    char *findings = findings_json(stage->p, &view);
    const struct export_findings known = {.json = findings};
    FILE *file = open_memstream(&s, &len);
    FUZZ_CHECK(file && findings &&
               exporter_write(exporter_by_name(format), stage->p, &view, &known, 0, file, &notes) ==
                   0);
    (void)fclose(file);
    free(findings);
    if (str_eq(format, "folded")) {
        check_lines(s, len, SIZE_MAX);
        add_folded(shape, s);
    } else if (str_eq(format, "flamegraph")) {
        FUZZ_CHECK(is_xml(s, len));
        add_svg(shape, s);
    } else {
        FUZZ_CHECK(is_json(s, len));
        add_json(shape, s);
    }
    free(s);
}

static void add_row(struct text *shape, const struct table_row *row)
{
    text_addf(shape, "row of %zu:", row->n_threads);
    for (size_t i = 0; i < row->n_paths; i++)
        text_addf(shape, " %zu", row->paths[i].n);
    text_add(shape, "\n");
}

static void check_answer(const struct hostile_stage *stage, struct text *shape)
{
    struct groups groups;
    struct table table;
    struct findings findings;
    struct text said = {0};
    groups_init(&groups, stage->p, &(struct view_options){0});
    table_init(&table, &groups, ANSWER_MAX_ROWS);
    findings_init(&findings, &groups);
    text_add(&said, "");
    findings_write(&findings, WIDTH, &said);
    answer_write(&table, WIDTH, &said);
    answer_write(&table, ANSWER_MIN_WIDTH, &said);
    check_lines(said.s, said.len, WIDTH);
    text_clear(&said);
    environment_write(&groups, WIDTH, &said);
    check_lines(said.s, said.len, CARD_WIDTH);
    for (size_t i = 0; i < findings.n_printed; i++)
        text_addf(shape, "%s\n", findings.printed[i]->rule);
    for (size_t i = 0; i < table.n; i++)
        add_row(shape, &table.rows[i]);
    text_release(&said);
    findings_release(&findings);
    table_release(&table);
    groups_release(&groups);
}

/* A frame is a line; the heads of processes and threads, and what follows, have a few. */
static void check_dump_text(struct hostile_stage *stage, bool full)
{
    struct dump *d = &stage->dump;
    struct text lines = {0};
    char *s = NULL;
    size_t len = 0;
    size_t most = HEAD_LINES;
    FILE *file = open_memstream(&s, &len);
    d->style = (struct dump_style){.full = full, .width = WIDTH};
    FUZZ_CHECK(file && dump_text(d, file) == 0);
    (void)fclose(file);
    check_lines(s, len, full ? SIZE_MAX : WIDTH);
    for (size_t i = 0; i < d->n; i++) {
        size_t n = 0;
        (void)view_stack(d->view, d->threads[i].at, &n);
        most += n + HEAD_LINES;
    }
    add_count(&lines, s, "\n");
    FUZZ_CHECK(strtoul(lines.s, NULL, 10) <= most);
    text_release(&lines);
    free(s);
}

static void check_dump(struct hostile_stage *stage, struct text *shape)
{
    char *s = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&s, &len);
    check_dump_text(stage, false);
    check_dump_text(stage, true);
    FUZZ_CHECK(file && dump_json(&stage->dump, file) == 0);
    (void)fclose(file);
    FUZZ_CHECK(is_json(s, len));
    add_json(shape, s);
    free(s);
}

static struct text shape_of(const char *const *names, size_t n, bool distinct)
{
    struct hostile_stage stage;
    struct text shape = {0};
    hostile_stage_init(&stage, names, n, distinct);
    check_file(&stage, "speedscope", &shape);
    check_file(&stage, "firefox", &shape);
    check_file(&stage, "folded", &shape);
    check_file(&stage, "flamegraph", &shape);
    check_answer(&stage, &shape);
    check_dump(&stage, &shape);
    hostile_stage_release(&stage);
    return shape;
}

static void show_difference(const char *a, const char *b)
{
    size_t same = 0;
    while (a[same] && a[same] == b[same])
        same++;
    size_t from = same > 200 ? same - 200 : 0;
    (void)fprintf(stderr, "with these names: %.300s\nwith others: %.300s\n", a + from, b + from);
}

void hostile_check(const char *const *names, size_t n, bool distinct, bool alike)
{
    static const char *const harmless[] = {"word"};
    struct text shape = shape_of(names, n, distinct);
    struct text usual = shape_of(harmless, 1, true);
    bool same = str_eq(shape.s, usual.s);
    if (!same && alike)
        show_difference(shape.s, usual.s);
    FUZZ_CHECK(same || !alike);
    text_release(&shape);
    text_release(&usual);
}
