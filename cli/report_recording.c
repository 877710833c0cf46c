#include "cli/report_recording.h"

#include <string.h>

#include "cli/answer.h"
#include "cli/brief.h"
#include "cli/exit_codes.h"
#include "cli/explanation.h"
#include "cli/quality.h"
#include "cli/report.h"
#include "cli/report_tables.h"
#include "cli/terminal.h"
#include "recording/recording_file.h"

static bool asks_for_tables(const struct options *o)
{
    return o->tables.threads || o->tables.functions || o->tables.waits || o->tables.tree;
}

static void print_tables(const struct options *o, const struct profile *p)
{
    struct text out = {0};
    int width = terminal_width();
    report_tables_add(o, p, (size_t)(width > ANSWER_MIN_WIDTH ? width : ANSWER_MIN_WIDTH), &out);
    terminal_lines(out.s ? out.s : "");
    text_release(&out);
}

static void print_brief(const struct options *o, const struct profile *p)
{
    struct explanation explanation;
    const struct explanation_request request = {
        .p = p, .views = &o->view, .n_views = 1, .say = brief_add};
    struct text quality = {0};
    struct text out = {0};
    explanation_make(&explanation, &request);
    text_add(&quality, "wallspy: ");
    (void)quality_text(p, &quality);
    text_add(&out, explanation.answer);
    brief_add_quality(quality.s, &out);
    terminal_lines(out.s);
    text_release(&out);
    text_release(&quality);
    explanation_release(&explanation);
}

/* As write_and_print() of record.c, which says it first. */
static void print(const struct options *o, const struct profile *p)
{
    struct explanation explanation;
    const struct explanation_request request = {
        .p = p, .views = &o->view, .n_views = 1, .verbose = o->verbose > 0};
    explanation_make(&explanation, &request);
    if (*explanation.answer)
        terminal_block(explanation.answer);
    if (o->verbose || o->stats)
        report_processes(p, &o->view);
    (void)quality_report(p);
    if (o->verbose || o->stats)
        report_stats(p);
    explanation_release(&explanation);
}

int report_recording(const struct options *o, const char *path)
{
    struct err err = {0};
    if (o->json) {
        terminal_error("%s is a recording: --json is for dumps", path);
        return EXIT_USAGE;
    }
    struct profile *p = recording_file_read(path, &err);
    if (!p) {
        terminal_error("%s", err.text);
        return EXIT_FAILED;
    }
    terminal_to_stdout(o->color);
    if (asks_for_tables(o))
        print_tables(o, p);
    else if (o->brief)
        print_brief(o, p);
    else
        print(o, p);
    profile_free(p);
    if (!terminal_lost())
        return EXIT_OK;
    terminal_error("cannot write what the recording says: %s", strerror(terminal_lost()));
    return EXIT_FAILED;
}
