#include "cli/explanation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/clock.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "exporter/findings_block.h"
#include "exporter/flame_groups.h"

enum {
    LOOK_MS = 50, /* whether it is still wanted */
    MOST_S = 60,
    MOST_HANGING_S = 1,
    MOST_BYTES = 1 << 26,
};
static const char hangs[] = "hang";

/* ---- the child ---- */

/* WALLSPY_EXPLAIN=crash or =hang: for a test. */
static const char *wanted_fault(void)
{
    const char *fault = getenv("WALLSPY_EXPLAIN");
    return fault ? fault : "";
}

static void obey_test(void)
{
    if (str_eq(wanted_fault(), "crash"))
        abort();
    while (str_eq(wanted_fault(), hangs))
        (void)pause();
}

static void write_groups(const struct groups *groups, FILE *out)
{
    struct text lines = {0};
    text_add(&lines, "");
    flame_groups_add(&lines, groups);
    (void)fwrite(lines.s, 1, lines.len + 1, out);
    text_release(&lines);
}

/* Each text ends in a NUL: the findings and the groups of each view, then the answer, and then an
 * empty one, which says that all are there. */
static void explain(const struct explanation_request *request, FILE *out)
{
    struct text answer = {0};
    text_add(&answer, "");
    for (size_t i = 0; i < request->n_views; i++) {
        struct groups groups;
        struct findings findings;
        groups_init(&groups, request->p, &request->views[i]);
        findings_init(&findings, &groups);
        (void)findings_block_write(&findings, out);
        (void)fputc('\0', out);
        write_groups(&groups, out);
        if (i == 0 && request->say)
            request->say(request->subject, &groups, &findings, &answer);
        else if (i == 0)
            report_add_answer(&groups, &findings, request->verbose, &answer);
        findings_release(&findings);
        groups_release(&groups);
    }
    (void)fwrite(answer.s, 1, answer.len + 1, out);
    (void)fputc('\0', out);
    text_release(&answer);
}

static void be_child(void *request, FILE *out)
{
    obey_test();
    explain(request, out);
}

/* ---- the parent ---- */

/* Returns 0 or a negative errno. */
static int start(struct child *c, struct explanation_request *request)
{
    bool paused = request->running && sampler_fork_begin(request->running);
    int error = child_start(c, "wallspy-explain", be_child, request);
    if (paused)
        sampler_fork_end(request->running);
    return error;
}

/* Reads all that C says.  Returns 0, or a negative errno: -ETIMEDOUT, -ECANCELED. */
static int collect(const struct explanation_request *request, struct child *c, struct text *ret)
{
    int most_s = str_eq(wanted_fault(), hangs) ? MOST_HANGING_S : MOST_S;
    int64_t end_ns = clock_now_ns() + most_s * (int64_t)NS_PER_S;
    while (clock_now_ns() < end_ns && ret->len < MOST_BYTES) {
        if (request->cancelled && request->cancelled())
            return -ECANCELED;
        ssize_t n = child_read(c, LOOK_MS, ret);
        if (n <= 0 && n != -EAGAIN)
            return (int)n;
    }
    return -ETIMEDOUT;
}

/* Points into BYTES.  False: not all of the texts are there. */
static bool take_texts(struct explanation *e, size_t n_views, struct text *bytes)
{
    const char *at = bytes->s;
    const char *end = bytes->s + bytes->len;
    for (size_t i = 0; i < 2 * n_views + 2; i++) {
        const char *next = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;
        if (!next)
            return false;
        if (i == 2 * n_views)
            e->answer = at;
        else if (i < 2 * n_views)
            *(i % 2 ? &e->findings[i / 2].groups : &e->findings[i / 2].json) = at;
        at = next + 1;
    }
    e->bytes = bytes->s;
    *bytes = (struct text){0};
    return true;
}

static void say_failed(struct explanation *e, size_t n_views)
{
    e->answer = "";
    for (size_t i = 0; i < n_views; i++)
        e->findings[i] = (struct export_findings){.why = e->why};
    terminal_warn("no findings and no table: the process that makes them failed (%s). The "
                  "recording is whole. Please report this.",
                  e->why);
}

void explanation_make(struct explanation *e, const struct explanation_request *request)
{
    struct text bytes = {0};
    struct text why = {0};
    struct child c;
    struct explanation_request asked = *request;
    *e = (struct explanation){.answer = ""};
    e->findings = xcalloc(request->n_views, sizeof *e->findings);
    (void)fflush(NULL); /* once, not twice */
    int error = start(&c, &asked);
    if (error == 0) {
        error = collect(request, &c, &bytes);
        if (error < 0)
            child_kill(&c);
        child_end(&c, &why);
    }
    if (error == 0 && take_texts(e, request->n_views, &bytes))
        text_clear(&why);
    else if (error == -ETIMEDOUT)
        e->why = xstrdup("it took too long");
    else
        e->why = xstrdup(error < 0 ? strerror(-error) : why.s);
    if (e->why && error != -ECANCELED)
        say_failed(e, request->n_views);
    text_release(&why);
    text_release(&bytes);
}

void explanation_release(struct explanation *e)
{
    free(e->findings);
    free(e->bytes);
    free(e->why);
    *e = (struct explanation){0};
}
