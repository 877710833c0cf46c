#include "cli/outputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/output_name.h"
#include "cli/quality.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "target/proc.h"

struct file {
    struct output_target target;
    pid_t pid; /* of the only process in it; 0: all */
};

struct outputs {
    const struct options *options;
    struct file *files;
    size_t n, capacity;
    time_t begun;
    unsigned snapshots;
};

/* ---- names ---- */

static const char *default_suffix(const struct options *o)
{
    const struct exporter *e = o->format ? exporter_by_name(o->format) : exporter_default();
    return e ? e->suffixes[0] : "";
}

/* The patterns of -o, none for `-o none`, or the default one, which the caller frees in
 * *RET_DEFAULT. */
static size_t patterns_of(const struct options *o, struct text *ret_default,
                          const char *const **ret)
{
    static const char *only[1];
    if (o->outputs.n || o->no_output) {
        *ret = o->outputs.words;
        return o->outputs.n;
    }
    output_default_pattern(default_suffix(o), ret_default);
    only[0] = ret_default->s;
    *ret = only;
    return 1;
}

static int report_error(int error, const struct err *err)
{
    if (error >= 0)
        return EXIT_OK;
    terminal_error("%s", err->text);
    return error == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

int outputs_plan(struct outputs **ret, const struct options *o)
{
    struct outputs *outputs = xcalloc(1, sizeof *outputs);
    struct text default_pattern = {0};
    struct err err = {0};
    const char *const *patterns = NULL;
    int error = 0;
    outputs->options = o;
    outputs->begun = time(NULL);
    size_t n = patterns_of(o, &default_pattern, &patterns);
    for (size_t i = 0; i < n && error == 0; i++) {
        /* A directory that depends on the process is checked once its name is known. */
        if (memchr(patterns[i], '%', (size_t)(path_base(patterns[i]) - patterns[i])))
            continue;
        struct output_target target = {0};
        error = output_plan(&target, patterns[i], o->format, !o->outputs.n, &err);
        output_target_release(&target);
    }
    text_release(&default_pattern);
    *ret = outputs;
    return report_error(error, &err);
}

struct file_naming {
    struct output_subject subject;
    char comm[TASK_COMM_BYTES];
    char host[256];
    char time[32];
    char *environ;
};

static void naming_init(struct file_naming *n, pid_t pid, time_t begun)
{
    memset(n, 0, sizeof *n);
    (void)proc_read_comm(pid, 0, n->comm);
    (void)gethostname(n->host, sizeof n->host - 1);
    struct tm local;
    if (localtime_r(&begun, &local))
        (void)strftime(n->time, sizeof n->time, "%Y%m%d-%H%M%S", &local);
    size_t len;
    n->environ = proc_read_environment(pid, &len);
    n->subject = (struct output_subject){pid, n->comm, n->host, n->time, n->environ, len};
}

static int add_file(struct outputs *outputs, const char *pattern, pid_t pid, bool only,
                    struct err *err)
{
    struct file_naming naming;
    struct text path = {0};
    struct file file = {.pid = only ? pid : 0};
    naming_init(&naming, pid, outputs->begun);
    const struct options *o = outputs->options;
    int error = output_expand(pattern, &naming.subject, &path, err);
    if (error == 0)
        error = output_plan(&file.target, path.s, o->format, !o->outputs.n, err);
    free(naming.environ);
    text_release(&path);
    if (error < 0) {
        output_target_release(&file.target);
        return error;
    }
    outputs->files =
        array_reserve(outputs->files, &outputs->capacity, outputs->n + 1, sizeof *outputs->files);
    outputs->files[outputs->n++] = file;
    return 0;
}

int outputs_name(struct outputs *outputs, const pid_t *pids, size_t n_pids)
{
    struct text default_pattern = {0};
    struct err err = {0};
    const char *const *patterns = NULL;
    int error = 0;
    size_t n = patterns_of(outputs->options, &default_pattern, &patterns);
    for (size_t i = 0; i < n && error == 0; i++) {
        bool split = (n_pids > 1 || outputs->options->subprocesses) &&
                     output_is_per_process(patterns[i]) && outputs->options->outputs.n;
        for (size_t j = 0; j < (split ? n_pids : 1) && error == 0; j++)
            error = add_file(outputs, patterns[i], pids[j], split, &err);
    }
    text_release(&default_pattern);
    return report_error(error, &err);
}

/* ---- writing ---- */

static void say_written(const struct output_target *target, int64_t bytes, int64_t elapsed_ns)
{
    const char *path = target->path;
    const struct exporter *e = target->exporter;
    const char *advice = exporter_has_suffix(e, path) ? e->advice : NULL;
    char *full = realpath(path, NULL);
    const char *unit = bytes < 10000000 ? "kB" : "MB";
    double size = (double)bytes / (bytes < 10000000 ? 1e3 : 1e6);
    terminal_info("wrote %s (%.0f %s, %.1f s).%s%s", full ? full : path, size, unit,
                  (double)elapsed_ns / NS_PER_S, advice ? " " : "", advice ? advice : "");
    free(full);
}

/* A process that could not be recorded has no id: then its file shows no process. */
static process_id process_of(const struct profile *p, pid_t pid)
{
    uint32_t n = profile_process_count(p);
    uint32_t i = 1;
    while (i <= n && profile_see_process(p, (process_id){i})->pid != pid)
        i++;
    return (process_id){i};
}

static bool has_file(const struct outputs *outputs, pid_t pid)
{
    size_t i = 0;
    while (i < outputs->n && outputs->files[i].pid != pid)
        i++;
    return i < outputs->n;
}

/* Files of the processes that were found since the start, where each has its own. */
static void add_followed(struct outputs *outputs, const struct profile *p)
{
    const struct options *o = outputs->options;
    struct err err = {0};
    for (uint32_t id = 1; o->subprocesses && id <= profile_process_count(p); id++) {
        pid_t pid = profile_see_process(p, (process_id){id})->pid;
        bool has = has_file(outputs, pid);
        for (size_t i = 0; i < o->outputs.n && !has; i++)
            if (output_is_per_process(o->outputs.words[i]) &&
                add_file(outputs, o->outputs.words[i], pid, true, &err) < 0)
                log_warn("file of a child", "no file for %d: %s", pid, err.text);
    }
}

static int write_file(const struct file *file, const struct output_target *target,
                      struct recording *r, const struct options *o, struct export_notes *ret_notes)
{
    struct err err = {0};
    struct output *out = NULL;
    struct view_options view = o->view;
    int64_t bytes = 0;
    if (file->pid)
        view.process = process_of(recording_profile(r), file->pid);
    int error = output_begin(&out, target, signals_discard_wanted, &err);
    if (error == 0) {
        (void)exporter_write(target->exporter, recording_profile(r), &view, o->max_bytes,
                             output_file(out), ret_notes);
        error = output_commit(out, &bytes, &err);
    }
    if (error == -ECANCELED)
        terminal_info("discarded, as asked: nothing was written");
    else if (error < 0)
        terminal_error("%s", err.text);
    else if (target->descriptor < 0)
        say_written(target, bytes, recording_elapsed_ns(r));
    return error;
}

/* Each file has its own notes.  The quality line has those of all files. */
static void join_notes(struct export_notes *all, const struct export_notes *notes)
{
    if (!*all->coarsened)
        memcpy(all->coarsened, notes->coarsened, sizeof all->coarsened);
    if (all->stacks_shortened < notes->stacks_shortened)
        all->stacks_shortened = notes->stacks_shortened;
}

/* To be called after the last file, because a file writes its own notes. */
static void keep_notes(struct profile *p, const struct export_notes *notes)
{
    if (notes->stacks_shortened)
        profile_set_number(p, METRIC_STACKS_SHORTENED, notes->stacks_shortened);
    if (*notes->coarsened)
        profile_set_text(p, "coarsened", notes->coarsened);
}

int outputs_write(struct outputs *outputs, struct recording *r)
{
    int first = 0;
    struct export_notes all = {0};
    add_followed(outputs, recording_profile(r));
    for (size_t i = 0; i < outputs->n; i++) {
        struct export_notes notes = {0};
        int error =
            write_file(&outputs->files[i], &outputs->files[i].target, r, outputs->options, &notes);
        first = first ? first : error;
        join_notes(&all, &notes);
    }
    keep_notes(recording_profile(r), &all);
    return first;
}

static bool all_in_place(const struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->n; i++)
        if (!outputs->files[i].target.in_place)
            return false;
    return true;
}

int outputs_snapshot(struct outputs *outputs, struct recording *r)
{
    int first = 0;
    if (all_in_place(outputs)) {
        terminal_warn("no snapshot: its name comes from the output's, and -o names no file");
        return 0;
    }
    outputs->snapshots++;
    recording_snapshot(r);
    quality_measure(recording_profile(r), &outputs->options->view);
    add_followed(outputs, recording_profile(r));
    for (size_t i = 0; i < outputs->n; i++) {
        struct output_target target = outputs->files[i].target;
        struct text path = {0};
        output_snap_path(target.path, outputs->snapshots, &path);
        target.path = path.s;
        struct export_notes notes;
        int error = target.in_place
                        ? 0
                        : write_file(&outputs->files[i], &target, r, outputs->options, &notes);
        first = first ? first : error;
        text_release(&path);
    }
    recording_snapshot_over(r);
    return first;
}

struct outputs *outputs_free(struct outputs *outputs)
{
    if (!outputs)
        return NULL;
    for (size_t i = 0; i < outputs->n; i++)
        output_target_release(&outputs->files[i].target);
    free(outputs->files);
    free(outputs);
    return NULL;
}
