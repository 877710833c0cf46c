#include "cli/dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/dump_forms.h"
#include "cli/dump_label.h"
#include "cli/exit_codes.h"
#include "cli/pyspy_dump.h"
#include "cli/signals.h"
#include "cli/targets.h"
#include "cli/terminal.h"
#include "cli/thread_check.h"
#include "cli/watchdog.h"
#include "dump/look.h"
#include "dump/proc_only.h"
#include "target/memory_limit.h"

enum {
    LOOK_NS = NS_PER_S / 2, /* the time that shows a hang */
    LOOKS_HZ = 18,          /* nine or ten looks in it: a thread is held twelve times at most */
};

/* How long threads are looked at before the shot; 0: the shot is all. */
static int64_t look_ns(const struct options *o)
{
    if (o->now || o->as_py_spy)
        return 0;
    return o->twice_ns ? o->twice_ns : LOOK_NS;
}

static struct recording_config configure(const struct options *o)
{
    struct sampler_config sampler = {
        .rate_hz = LOOKS_HZ,
        .max_held = 1,
        .single_shot = true,
        .looks_first = look_ns(o) > 0,
        .freeze = o->freeze,
        .no_stop = o->no_stop,
        .filter = {o->threads.words, o->threads.n},
    };
    struct stack_options stacks = {
        .no_native = o->view.no_native,
        .no_python = o->view.no_python,
        .tasks = o->tasks,
        .locals = o->locals,
        .all_locals = o->as_py_spy,
    };
    return (struct recording_config){.sampler = sampler,
                                     .stacks = stacks,
                                     .follow = o->subprocesses,
                                     .has_left = watchdog_has_left};
}

/* A dump has no quality line. */
static void warn_of_names(const struct profile *p)
{
    double frames = profile_number(p, METRIC_FRAMES_UNNAMED);
    if (frames > 0)
        log_warn("names", "%.0f frames have no name, because naming failed: %s", frames,
                 profile_metadata_text(p, "naming_failed"));
}

static int capture(const struct options *o, struct recording *r, const pid_t *pids, size_t n,
                   bool *ret_one_missing, int64_t *ret_look_ns)
{
    struct err err = {0};
    int error = targets_start(r, pids, n, ret_one_missing, &err);
    if (error < 0) {
        terminal_error("%s", err.text);
        return exit_code_of_errno(error);
    }
    watchdog_watch(recording_sampler(r), 0, false);
    watchdog_expect_end();
    *ret_look_ns = look_ns(o) ? dump_look_run(r, look_ns(o)) : 0;
    recording_finish(r, NULL, NULL);
    warn_of_names(recording_profile(r));
    return EXIT_OK;
}

static int write_dump(const struct options *o, struct dump *dump)
{
    dump->style = (struct dump_style){.full = o->full || o->view.internals,
                                      .twice = o->twice_ns > 0,
                                      .subprocesses = o->subprocesses,
                                      .filtered = o->threads.n > 0,
                                      .width = (size_t)terminal_data_width()};
    return o->json ? dump_json(dump, stdout) : dump_text(dump, stdout);
}

static int print(const struct options *o, struct dump *dump, const struct process_set *processes)
{
    struct view_options whole = o->view;
    dump_list_threads(dump);
    if (o->as_py_spy) {
        dump->view = view_new(dump->profile, &o->view);
    } else {
        whole.whole = true;
        whole.internals |= o->full;
        dump_read_rest(dump, processes, &whole, look_ns(o) ? &o->view : NULL);
        dump_label_threads(dump);
    }
    signals_let_broken_pipe_end(); /* no thread is held now */
    int error = o->as_py_spy ? pyspy_dump(dump, processes, o, stdout) : write_dump(o, dump);
    if (fflush(stdout) != 0 && !error)
        error = -errno;
    if (error)
        terminal_error("cannot write the dump: %s", strerror(-error));
    return error ? EXIT_FAILED : EXIT_OK;
}

/* On the watchdog's thread, where the others hang: what can be told without them. */
static int show_from_proc(const void *options)
{
    const struct options *o = options;
    struct dump dump = {0};
    dump_proc_fill(&dump, o->pids, o->n_pids);
    dump_label_threads(&dump);
    int error = write_dump(o, &dump);
    return error || fflush(stdout) != 0 ? EXIT_FAILED : EXIT_NO_SAMPLE;
}

static int dump(const void *options)
{
    const struct options *o = options;
    pid_t *pids = NULL;
    size_t n = 0;
    bool one_missing = false;
    if (!o->as_py_spy)
        watchdog_on_hang(show_from_proc, o);
    watchdog_start();
    signals_open(false);
    int code = targets_check(o, &pids, &n, &one_missing);
    if (code != EXIT_OK)
        return code;
    signals_end_at_once(); /* nothing is lost by it, and who is held goes on */
    struct recording_config config = configure(o);
    memory_limit(0);
    struct recording *r = recording_new(&config);
    struct dump dump = {0};
    dump_hear(&dump, r);
    signals_block_terminal_stop(); /* not with a thread held, or about to be */
    code = capture(o, r, pids, n, &one_missing, &dump.look_ns);
    signals_let_terminal_stop();
    if (code == EXIT_OK && o->as_py_spy)
        code = pyspy_dump_check(recording_profile(r), o);
    if (code == EXIT_OK)
        code = print(o, &dump, recording_processes(r));
    if (code == EXIT_OK && dump.n == 0) {
        if (thread_check(o, pids, n) == EXIT_OK)
            terminal_error("no thread is left to show: the process has ended.");
        code = EXIT_NO_SAMPLE;
    }
    dump_release(&dump);
    watchdog_end();
    recording_free(r);
    free(pids);
    return code;
}

/* py-spy's has no view without what hangs. */
int dump_main(const struct options *o)
{
    return o->as_py_spy ? dump(o) : watchdog_run_apart(dump, o);
}
