#include "cli/report_recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/brief.h"
#include "cli/chosen.h"
#include "cli/exit_codes.h"
#include "cli/explanation.h"
#include "cli/moments_text.h"
#include "cli/quality.h"
#include "cli/recording_input.h"
#include "cli/report.h"
#include "cli/report_json.h"
#include "cli/report_tables.h"
#include "cli/speedscope_in.h"
#include "cli/terminal.h"
#include "cli/why.h"
#include "cli/window.h"

/* What is said, and of what. */
struct said {
    struct options o; /* with the view of the threads that are asked for; borrows what it has */
    struct profile *p;
    const struct findings *kept; /* what a file without the facts says; NULL: they are found */
    struct window taken;
    struct text window;                /* the part of the recording, in words; "": all of it */
    bool *processes;                   /* as the view's */
    size_t width;                      /* of a line */
    char leader[sizeof "-2147483648"]; /* a tid, as the view's */
};

static bool asks_for_tables(const struct options *o)
{
    return o->tables.threads || o->tables.functions || o->tables.waits || o->tables.tree;
}

static void print_tables(const struct said *said)
{
    struct text out = {0};
    report_tables_add(&said->o, said->p, said->width, &out);
    terminal_lines(out.s ? out.s : "");
    text_release(&out);
}

static void add_quality(const struct said *said, struct text *out)
{
    text_add(out, "wallspy: ");
    (void)quality_text(said->p, out);
}

/* How many lines of --brief are left for the answer. */
static size_t brief_lines_left(const struct said *said)
{
    struct text quality = {0};
    add_quality(said, &quality);
    size_t lines = BRIEF_LINES - brief_lines_of(quality.s, BRIEF_QUALITY_LINES);
    text_release(&quality);
    return lines - (said->window.len > 0);
}

/* What is said of G and F, of those that are asked for. */
static void say_answer(const void *subject, const struct groups *g, const struct findings *f,
                       struct text *out)
{
    const struct said *said = subject;
    struct chosen_answer chosen;
    const struct report_json json = {
        .o = &said->o, .p = said->p, .window = &said->taken, .speedscope = said->kept != NULL};
    chosen_answer_init(&chosen, &said->o, g, said->kept ? said->kept : f);
    if (said->o.why)
        why_add(out, g, why_find(&g->summaries, said->o.why), said->width);
    else if (said->o.json)
        (void)report_json_add(out, &json, g, &chosen.findings); /* of none is nothing printed */
    else if (said->o.brief)
        brief_add(&chosen.groups, &chosen.findings, brief_lines_left(said), out);
    else
        report_add_answer(&chosen.groups, &chosen.findings, said->o.verbose > 0, out);
    chosen_answer_release(&chosen);
}

static void print_brief(const struct said *said, const char *answer)
{
    struct text quality = {0};
    struct text out = {0};
    add_quality(said, &quality);
    if (said->window.len)
        brief_add_line(said->window.s, 1, &out);
    text_add(&out, answer);
    brief_add_line(quality.s, BRIEF_QUALITY_LINES, &out);
    terminal_lines(out.s);
    text_release(&out);
    text_release(&quality);
}

/* As write_and_print() of record.c, which says it first. */
static void print_whole(const struct said *said, const char *answer)
{
    bool verbose = said->o.verbose || said->o.stats;
    if (*answer)
        terminal_block(answer);
    moments_print(said->p);
    if (verbose)
        report_processes(said->p, &said->o.view);
    (void)quality_report(said->p);
    if (verbose)
        report_stats(said->p);
}

/* Returns an exit code. */
static int print_answer(const struct said *said)
{
    struct explanation explanation;
    const struct explanation_request request = {
        .p = said->p, .views = &said->o.view, .n_views = 1, .say = say_answer, .subject = said};
    explanation_make(&explanation, &request);
    bool alone = said->o.json || said->o.why; /* nothing else is printed */
    bool failed = alone && !*explanation.answer;
    if (alone)
        terminal_lines(explanation.answer);
    else if (said->o.brief)
        print_brief(said, explanation.answer);
    else
        print_whole(said, explanation.answer);
    explanation_release(&explanation);
    return failed ? EXIT_FAILED : EXIT_OK;
}

static int print(const struct said *said)
{
    if (said->window.len && !said->o.brief && !said->o.json)
        terminal_info("%s", said->window.s);
    if (!asks_for_tables(&said->o))
        return print_answer(said);
    print_tables(said);
    return EXIT_OK;
}

/* Sets in SAID whom it is about.  Returns 0, or -EINVAL with ERR. */
static int choose(struct said *said, struct err *err)
{
    struct options *o = &said->o;
    pid_t first = 0;
    said->processes = chosen_processes(o, said->p);
    o->view.processes = said->processes;
    if (!o->threads.n && !o->processes.n)
        return 0;
    if (!chosen_first(o, said->p, &first))
        return err_set(err, -EINVAL,
                       "the recording has no thread that --thread and --process ask for: wallspy "
                       "report --threads %s lists them",
                       o->inputs.words[0]);
    if (o->processes.n)
        quality_measure(said->p, &o->view);
    (void)snprintf(said->leader, sizeof said->leader, "%d", first);
    if (o->threads.n && !o->view.leader)
        o->view.leader = said->leader;
    return 0;
}

/* Is there the thread that --why asks for?  Returns as choose() does. */
static int check_why(const struct said *said, struct err *err)
{
    struct report_source source;
    if (!said->o.why)
        return 0;
    report_source_init(&source, &said->o, said->p, 0);
    bool found = why_find(&source.all, said->o.why) != NULL;
    report_source_release(&source);
    if (found)
        return 0;
    return err_set(err, -EINVAL,
                   "no thread of the recording is %s: wallspy report --threads %s lists them",
                   said->o.why, said->o.inputs.words[0]);
}

/* Cuts and chooses.  Returns 0, or -EINVAL with ERR. */
static int prepare(struct said *said, struct err *err)
{
    int r = window_cut(&said->o, said->p, &said->taken, err);
    if (r < 0)
        return r;
    window_add_words(&said->window, said->p, &said->taken, said->o.brief);
    if (said->kept && said->taken.asked && !said->o.brief)
        text_add(&said->window, "; findings are in the file for all of it, and left out");
    r = choose(said, err);
    return r < 0 ? r : check_why(said, err);
}

/* Prints what O asks of SAID's profile.  Returns an exit code. */
static int say(struct said *said)
{
    struct err err = {0};
    int code = EXIT_USAGE;
    if (prepare(said, &err) < 0) {
        terminal_error("%s", err.text);
    } else {
        terminal_to_stdout(said->o.color);
        int width = terminal_width();
        said->width = (size_t)(width > ANSWER_MIN_WIDTH ? width : ANSWER_MIN_WIDTH);
        code = print(said);
    }
    text_release(&said->window);
    free(said->processes);
    if (!terminal_lost())
        return code;
    terminal_error("cannot write what the recording says: %s", strerror(terminal_lost()));
    return EXIT_FAILED;
}

int report_recording(const struct options *o, const char *path)
{
    struct err err = {0};
    struct said said = {.o = *o, .p = recording_input_read(path, o, &err)};
    if (!said.p) {
        terminal_error("%s", err.text);
        return EXIT_FAILED;
    }
    int code = say(&said);
    profile_free(said.p);
    return code;
}

int report_speedscope(const struct options *o, const char *path)
{
    struct err err = {0};
    struct speedscope file;
    if (o->why) {
        terminal_error("%s does not hold who waits for whom: --why is for recordings (-o "
                       "FILE.wallspy)",
                       path);
        return EXIT_USAGE;
    }
    if (speedscope_read(&file, path, &err) < 0) {
        terminal_error("%s", err.text);
        return EXIT_FAILED;
    }
    if (o->from.kind || o->to.kind)
        file.findings.n_printed = 0;
    struct said said = {.o = *o, .p = file.p, .kept = &file.findings};
    int code = say(&said);
    speedscope_release(&file);
    return code;
}
