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
#include "cli/window.h"
#include "recording/recording_file.h"

/* What is said, and of what. */
struct said {
    const struct options *o;
    struct profile *p;
    const char *window; /* the part of the recording that it is about, in words; "": all of it */
};

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

static void say_brief(const void *subject, const struct groups *groups,
                      const struct findings *findings, struct text *out)
{
    const struct said *said = subject;
    size_t lines = BRIEF_LINES - BRIEF_QUALITY_LINES - (*said->window != '\0');
    brief_add(groups, findings, lines, out);
}

static void print_brief(const struct said *said)
{
    struct explanation explanation;
    const struct explanation_request request = {
        .p = said->p, .views = &said->o->view, .n_views = 1, .say = say_brief, .subject = said};
    struct text quality = {0};
    struct text out = {0};
    explanation_make(&explanation, &request);
    text_add(&quality, "wallspy: ");
    (void)quality_text(said->p, &quality);
    if (*said->window)
        brief_add_line(said->window, 1, &out);
    text_add(&out, explanation.answer);
    brief_add_line(quality.s, BRIEF_QUALITY_LINES, &out);
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

static void print_all(const struct said *said)
{
    if (said->o->brief) {
        print_brief(said);
        return;
    }
    if (*said->window)
        terminal_info("%s", said->window);
    if (asks_for_tables(said->o))
        print_tables(said->o, said->p);
    else
        print(said->o, said->p);
}

/* Returns an exit code. */
static int say(const struct options *o, struct profile *p)
{
    struct err err = {0};
    struct text window = {0};
    text_add(&window, "");
    int r = window_cut(o, p, &window, &err);
    if (r < 0) {
        terminal_error("%s", err.text);
    } else {
        terminal_to_stdout(o->color);
        print_all(&(struct said){.o = o, .p = p, .window = window.s});
    }
    text_release(&window);
    if (r < 0)
        return EXIT_USAGE;
    if (!terminal_lost())
        return EXIT_OK;
    terminal_error("cannot write what the recording says: %s", strerror(terminal_lost()));
    return EXIT_FAILED;
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
    int code = say(o, p);
    profile_free(p);
    return code;
}
