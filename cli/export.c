#include "cli/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/exit_codes.h"
#include "cli/explanation.h"
#include "cli/output.h"
#include "cli/outputs.h"
#include "cli/recording_input.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/window.h"

/* Without -o: the recording's name with the format's suffix, in the current folder. */
static void add_default_name(struct text *out, const struct options *o)
{
    const char *base = path_base(o->inputs.words[0]);
    size_t len = strlen(base) - (str_ends(base, ".wallspy") ? strlen(".wallspy") : 0);
    const struct exporter *e = exporter_by_name(o->format);
    text_add_bytes(out, base, len);
    text_add(out, e ? e->suffixes[0] : ""); /* an unknown one is refused with the name */
}

static int plan(struct output_target *ret, const struct options *o, struct err *err)
{
    struct text name = {0};
    bool given = o->outputs.n > 0;
    if (given)
        text_add(&name, o->outputs.words[0]);
    else
        add_default_name(&name, o);
    int error = output_plan(ret, name.s, o->format, !given, err);
    text_release(&name);
    return error;
}

/* What the file lacks: only some formats have a place to say it. */
static void say_notes(const struct export_notes *notes)
{
    if (*notes->coarsened)
        terminal_info("the file is coarser than the recording (--max-size): %s", notes->coarsened);
    if (notes->stacks_shortened)
        terminal_info("the file has %u stacks shortened to the depth that its format has room for",
                      notes->stacks_shortened);
}

static int write_file(const struct options *o, const struct profile *p,
                      const struct output_target *target, struct err *err)
{
    struct output *out = NULL;
    struct export_notes notes;
    struct explanation explanation;
    int64_t bytes = 0;
    bool kept = false;
    const struct explanation_request request = {
        .p = p, .views = &o->view, .n_views = 1, .cancelled = signals_stop_wanted};
    signals_open(false); /* from here on a file is begun that must not stay */
    signals_let_broken_pipe_end();
    int error = output_begin(&out, target, signals_stop_wanted, err);
    if (error < 0)
        return error;
    explanation_make(&explanation, &request);
    output_fail(out, exporter_write(target->exporter, p, &o->view, &explanation.findings[0],
                                    o->max_bytes, output_file(out), &notes));
    explanation_release(&explanation);
    error = output_commit(out, &bytes, &kept, err);
    if (error == 0 && target->descriptor < 0)
        outputs_say_written(target, bytes, profile_end_ns(p));
    if (error == 0)
        say_notes(&notes);
    return error;
}

/* Returns 0 or a negative errno with ERR. */
static int cut(const struct options *o, struct profile *p, struct err *err)
{
    struct window window;
    struct text words = {0};
    int r = window_cut(o, p, &window, err);
    if (r == 0)
        window_add_words(&words, p, &window, false);
    if (words.len)
        terminal_info("%s", words.s);
    text_release(&words);
    return r;
}

int export_main(const struct options *o)
{
    struct err err = {0};
    struct output_target target = {0};
    int error = plan(&target, o, &err);
    struct profile *p = error == 0 ? recording_input_read(o->inputs.words[0], o, &err) : NULL;
    error = p ? cut(o, p, &err) : error;
    int code = error == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
    if (p && error == 0)
        error = write_file(o, p, &target, &err);
    if (p && error == 0)
        code = EXIT_OK;
    else if (error == -ECANCELED)
        terminal_info("discarded, as asked: nothing was written");
    else
        terminal_error("%s", err.text);
    profile_free(p);
    output_target_release(&target);
    return code;
}
