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
#include "cli/growing_file.h"
#include "cli/output.h"
#include "cli/output_name.h"
#include "cli/quality.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/window.h"
#include "recording/recording_file.h"
#include "target/proc.h"

struct file {
    struct output_target target;
    char *name;      /* PATH as it was asked for */
    bool split;      /* only some processes are in it */
    bool *processes; /* those in it, by process, once the profile is there; maybe none */
    size_t view;     /* its place in the views that are explained */
};

struct outputs {
    const struct options *options;
    struct file *files;
    size_t n, capacity;
    bool split; /* there are files that have only some processes */
    int error;  /* why a process's own file could not be written; 0: each could */
    time_t begun;
    unsigned snapshots;
    struct text written;          /* see outputs_written() */
    struct growing_file *growing; /* NULL: no file is written before the end */
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
    return error == -EINVAL || error == -ENODATA ? EXIT_USAGE : EXIT_FAILED;
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

/* The kept part of the environment of process ID stands before the one that it was started with: it
 * may have got its rank later, or have ended. */
static void use_what_is_kept(struct file_naming *n, const struct profile *p, process_id id)
{
    const struct profile_process *process = profile_see_process(p, id);
    size_t len = n->environ ? n->subject.environ_len : 0;
    struct text all = {0};
    text_add(&all, profile_text(p, process->environment));
    for (size_t i = 0; i < all.len; i++)
        if (all.s[i] == ' ')
            all.s[i] = '\0';
    text_add_bytes(&all, "", 1); /* its NUL */
    text_add_bytes(&all, n->environ, len);
    free(n->environ);
    n->environ = all.s;
    n->subject.environ = all.s;
    n->subject.environ_len = all.len;
    if (!*n->comm)
        (void)snprintf(n->comm, sizeof n->comm, "%s", profile_text(p, process->comm));
}

static int try_name(const struct options *o, const char *name, struct err *err)
{
    struct output_target target = {0};
    int error = output_plan(&target, name, o->format, !o->outputs.n, err);
    output_target_release(&target);
    return error;
}

/* Checks what is known of PATTERN before there is a process: a command that is launched inherits
 * wallspy's own environment.  A directory that depends on a process is checked once its name is
 * known. */
static int plan(const struct outputs *outputs, const char *pattern, struct err *err)
{
    const struct options *o = outputs->options;
    const char *base = path_base(pattern);
    int error = 0;
    if (!memchr(pattern, '%', (size_t)(base - pattern)))
        error = try_name(o, pattern, err);
    if (error < 0 || !o->argv || !strchr(pattern, '%'))
        return error;
    struct text path = {0};
    struct file_naming naming;
    naming_init(&naming, getpid(), outputs->begun);
    text_add(&path, "");
    error = output_expand(pattern, &naming.subject, &path, err);
    if (error == -ENODATA && o->subprocesses) /* a child may have it */
        error = 0;
    else if (error == 0 && base == pattern)
        error = try_name(o, path.s, err);
    text_release(&path);
    free(naming.environ);
    return error;
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
        error = plan(outputs, patterns[i], &err);
    }
    text_release(&default_pattern);
    *ret = outputs;
    return report_error(error, &err);
}

static struct file *find_file(struct outputs *outputs, const char *name)
{
    size_t i = 0;
    while (i < outputs->n && !str_eq(outputs->files[i].name, name))
        i++;
    return i < outputs->n ? &outputs->files[i] : NULL;
}

/* The file that PATTERN names for the subject of NAMING, made if it is
 * new.  Returns 0; or with ERR -ENODATA: the subject lacks a variable, or another errno. */
static int add_file(struct outputs *outputs, const char *pattern, const struct file_naming *naming,
                    bool split, struct file **ret, struct err *err)
{
    struct text path = {0};
    const struct options *o = outputs->options;
    text_add(&path, "");
    int error = output_expand(pattern, &naming->subject, &path, err);
    *ret = error == 0 && split ? find_file(outputs, path.s) : NULL;
    if (error < 0 || *ret) {
        text_release(&path);
        return error;
    }
    struct file file = {.name = path.s, .split = split};
    error = output_plan(&file.target, path.s, o->format, !o->outputs.n, err);
    if (error < 0) {
        output_target_release(&file.target);
        free(file.name);
        return error;
    }
    outputs->files =
        array_reserve(outputs->files, &outputs->capacity, outputs->n + 1, sizeof *outputs->files);
    *ret = &outputs->files[outputs->n++];
    **ret = file;
    return 0;
}

/* One file of PATTERN, or if SPLIT one for each of PIDS.  With --subprocesses a process without the
 * variable may only be the launcher of those that have it. */
static int name_files(struct outputs *outputs, const char *pattern, const pid_t *pids, size_t n,
                      bool split, struct err *err)
{
    int error = 0;
    for (size_t i = 0; i < (split ? n : 1) && error == 0; i++) {
        struct file_naming naming;
        struct file *file;
        naming_init(&naming, pids[i], outputs->begun);
        error = add_file(outputs, pattern, &naming, split, &file, err);
        free(naming.environ);
        if (error == -ENODATA && split && outputs->options->subprocesses)
            error = 0;
    }
    return error;
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
        outputs->split |= split;
        error = name_files(outputs, patterns[i], pids, n_pids, split, &err);
    }
    text_release(&default_pattern);
    return report_error(error, &err);
}

/* ---- the file that grows ---- */

/* Is the file that PATTERN names, NULL: the default one, of a format that grows? */
static bool grows(const struct options *o, const char *pattern)
{
    const struct exporter *e = o->format ? exporter_by_name(o->format)
                               : pattern ? exporter_by_path(pattern)
                                         : exporter_default();
    return e && e->grows;
}

struct growing_file *outputs_start_growing(const struct options *o)
{
    bool some = !o->outputs.n && !o->no_output && grows(o, NULL);
    for (size_t i = 0; i < o->outputs.n; i++)
        some |= grows(o, o->outputs.words[i]);
    return some ? growing_file_start() : NULL;
}

/* One that has some processes only is known at the end. */
static bool can_grow(const struct file *file)
{
    const struct output_target *t = &file->target;
    return t->exporter->grows && !file->split && !t->in_place && !t->gzip;
}

void outputs_grow(struct outputs *outputs, struct growing_file *g)
{
    size_t i = 0;
    while (i < outputs->n && !can_grow(&outputs->files[i]))
        i++;
    if (g && i < outputs->n)
        growing_file_open(g, &outputs->files[i].target);
    else
        g = growing_file_free(g);
    outputs->growing = g;
}

void outputs_look(struct outputs *outputs, struct recording *r)
{
    growing_file_look(outputs->growing, r);
}

const char *outputs_growing_path(const struct outputs *outputs)
{
    return growing_file_path(outputs->growing);
}

/* ---- writing ---- */

void outputs_say_written(const struct output_target *target, int64_t bytes, int64_t elapsed_ns)
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

/* Puts process ID into the file that PATTERN names for it.  Returns 0; or with ERR -ENODATA: it
 * lacks a variable, or another negative errno. */
static int assign(struct outputs *outputs, const char *pattern, const struct profile *p,
                  process_id id, struct err *err)
{
    struct file_naming naming;
    struct file *file = NULL;
    pid_t pid = profile_see_process(p, id)->pid;
    naming_init(&naming, pid, outputs->begun);
    use_what_is_kept(&naming, p, id);
    int error = add_file(outputs, pattern, &naming, true, &file, err);
    if (error == -ENODATA)
        log_warn("file of a child", "no file for %d: %s", pid, err->text);
    free(naming.environ);
    if (error < 0)
        return error;
    if (!file->processes)
        file->processes = xcalloc(profile_process_count(p) + 1, sizeof *file->processes);
    file->processes[id.ix] = true;
    return 0;
}

/* Adds a file in the current folder; NULL: it cannot be written either, which is told. */
static struct file *add_fallback(struct outputs *outputs, const struct profile *p)
{
    struct text pattern = {0};
    struct err err = {0};
    struct file *file = NULL;
    struct file_naming naming;
    output_default_pattern(default_suffix(outputs->options), &pattern);
    naming_init(&naming, profile_see_process(p, (process_id){1})->pid, outputs->begun);
    use_what_is_kept(&naming, p, (process_id){1});
    if (add_file(outputs, pattern.s, &naming, false, &file, &err) < 0)
        terminal_error("%s", err.text);
    free(naming.environ);
    text_release(&pattern);
    return file;
}

/* The processes LEFT have names for their files, and those cannot be written: WHY. */
static void write_left(struct outputs *outputs, const struct profile *p, bool *left,
                       const char *why)
{
    struct file *file = add_fallback(outputs, p);
    if (!file) {
        free(left);
        return;
    }
    file->split = true;
    file->processes = left;
    terminal_error("%s Processes whose files cannot be written are in %s.", why, file->name);
}

/* Gives each file of PATTERN the processes that it is named after. */
static void assign_pattern(struct outputs *outputs, const char *pattern, const struct profile *p)
{
    size_t assigned = 0;
    struct err why = {0};
    bool *left = xcalloc(profile_process_count(p) + (size_t)1, sizeof *left);
    for (uint32_t id = 1; id <= profile_process_count(p); id++) {
        struct err err = {0};
        int error = assign(outputs, pattern, p, (process_id){id}, &err);
        assigned += error == 0;
        left[id] = error < 0 && error != -ENODATA;
        outputs->error = left[id] ? error : outputs->error;
        why = left[id] ? err : why;
    }
    if (*why.text) {
        write_left(outputs, p, left, why.text);
        return;
    }
    free(left);
    struct file *file = assigned ? NULL : add_fallback(outputs, p);
    if (file) /* nobody has a variable of PATTERN: what was recorded is written all the same */
        log_warn("file of all", "no process has the variables of %s: all are in %s", pattern,
                 file->name);
}

static void assign_all(struct outputs *outputs, const struct profile *p)
{
    const struct options *o = outputs->options;
    for (size_t i = 0; i < outputs->n; i++) {
        free(outputs->files[i].processes);
        outputs->files[i].processes = NULL;
    }
    for (size_t i = 0; outputs->split && i < o->outputs.n; i++)
        if (output_is_per_process(o->outputs.words[i]))
            assign_pattern(outputs, o->outputs.words[i], p);
    /* A process that could not be recorded has a file that shows none. */
    for (size_t i = 0; i < outputs->n; i++)
        if (outputs->files[i].split && !outputs->files[i].processes)
            outputs->files[i].processes =
                xcalloc(profile_process_count(p) + 1, sizeof *outputs->files[i].processes);
}

static struct view_options view_of(const struct outputs *outputs, const struct file *file)
{
    struct view_options view = outputs->options->view;
    view.processes = file->split ? file->processes : view.processes;
    return view;
}

/* RUNNING: as the request's. */
static void explain(struct outputs *outputs, struct profile *p, struct sampler *running,
                    struct explanation *ret)
{
    struct view_options *views = xcalloc(outputs->n + 1, sizeof *views);
    size_t n = 0;
    views[n++] = outputs->options->view;
    for (size_t i = 0; i < outputs->n; i++) {
        outputs->files[i].view = outputs->files[i].split ? n : 0;
        if (outputs->files[i].split)
            views[n++] = view_of(outputs, &outputs->files[i]);
    }
    const struct explanation_request request = {.p = p,
                                                .views = views,
                                                .n_views = n,
                                                .verbose = outputs->options->verbose > 0,
                                                .running = running,
                                                .cancelled = report_discarded};
    explanation_make(ret, &request);
    free(views);
}

struct writing {
    const struct outputs *outputs;
    const struct profile *p;
    const struct explanation *explanation;
    struct text *written;
    bool last; /* there is no later one: what is not written is lost */
};

/* The rest of a file that grew.  Returns as try_file(); -EPIPE: it is to be written as others. */
static int end_growing(const struct writing *w, int64_t *ret_bytes, bool *ret_kept, struct err *err)
{
    return growing_file_end(w->outputs->growing, w->p, report_discarded, ret_bytes, ret_kept, err);
}

/* Returns 0, or a negative errno with ERR; RET_KEPT: that names a file that has the recording. */
static int try_file(const struct writing *w, const struct file *file,
                    const struct output_target *target, struct export_notes *ret_notes,
                    int64_t *ret_bytes, bool *ret_kept, struct err *err)
{
    struct output *out = NULL;
    const struct view_options view = view_of(w->outputs, file);
    int error = output_begin(&out, target, report_discarded, err);
    if (error < 0)
        return error;
    output_fail(out,
                exporter_write(target->exporter, w->p, &view, &w->explanation->findings[file->view],
                               w->outputs->options->max_bytes, output_file(out), ret_notes));
    return output_commit(out, ret_bytes, ret_kept, err);
}

/* The disk is full, the pipe's reader gone: what was recorded, for hours it may be, goes into the
 * current folder, or into that for temporary files.  Returns the file's path, which the caller
 * frees; NULL: there is no room there, either. */
static char *write_elsewhere(const struct writing *w, const struct file *file)
{
    const struct output_target *target = &file->target;
    const char *temporary = getenv("TMPDIR");
    const char *const folders[] = {".", temporary && *temporary ? temporary : "/tmp"};
    char *written = NULL;
    char number[24] = ""; /* several may have one format */
    if (file > w->outputs->files)
        (void)snprintf(number, sizeof number, "-%zu", (size_t)(file - w->outputs->files) + 1);
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !written; i++) {
        struct err unused = {0};
        struct export_notes notes;
        struct output_target other;
        int64_t bytes;
        bool kept;
        char *path = xasprintf("%s/wallspy.%d%s%s%s", folders[i], getpid(), number,
                               target->exporter->suffixes[0], target->gzip ? ".gz" : "");
        if (output_plan(&other, path, target->exporter->name, true, &unused) == 0) {
            if (try_file(w, file, &other, &notes, &bytes, &kept, &unused) == 0)
                written = realpath(path, NULL);
            output_target_release(&other);
        }
        free(path);
    }
    return written;
}

/* PATH: absolute, or in the current folder. */
static void note_written(const struct writing *w, const char *path)
{
    char *full = realpath(path, NULL);
    const char *name = full ? full : path;
    text_add_tame(w->written, name, strlen(name));
    text_add(w->written, "\n");
    free(full);
}

/* GREW: what was to be written anew is there as it has grown, too. */
static void say_failed(const struct writing *w, const struct file *file, const struct err *err,
                       bool kept, bool grew)
{
    char *path = w->last && !kept ? write_elsewhere(w, file) : NULL;
    const char *grown = !path && !kept && grew ? growing_file_keep(w->outputs->growing) : NULL;
    path = grown ? xstrdup(grown) : path;
    if (path)
        terminal_error("%s. The recording is in %s.", err->text, path);
    else
        terminal_error("%s", err->text);
    free(path);
}

static int write_file(const struct writing *w, const struct file *file,
                      const struct output_target *target, struct export_notes *ret_notes)
{
    struct err err = {0};
    int64_t bytes = 0;
    bool kept = false;
    int error = -EPIPE;
    bool grew = w->last && growing_file_is_of(w->outputs->growing, target);
    if (grew && !w->outputs->options->ring_ns) /* what is left of a ring is written anew */
        error = end_growing(w, &bytes, &kept, &err);
    if (error == -EPIPE) {
        error = try_file(w, file, target, ret_notes, &bytes, &kept, &err);
        if (error == 0 && grew)
            growing_file_remove(w->outputs->growing);
    }
    if (error == -ECANCELED)
        terminal_info("discarded, as asked: nothing was written");
    else if (error < 0)
        say_failed(w, file, &err, kept, grew);
    else if (target->descriptor < 0)
        outputs_say_written(target, bytes, profile_end_ns(w->p));
    if (error == 0 && !target->in_place)
        note_written(w, target->path);
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

/* Call it after the last file, because a file writes its own notes. */
static void keep_notes(struct profile *p, const struct export_notes *notes)
{
    if (notes->stacks_shortened)
        profile_set_number(p, METRIC_STACKS_SHORTENED, notes->stacks_shortened);
    if (*notes->coarsened)
        profile_set_text(p, "coarsened", notes->coarsened);
}

int outputs_write(struct outputs *outputs, struct recording *r, struct explanation *ret)
{
    int first = 0;
    struct export_notes all = {0};
    assign_all(outputs, recording_profile(r));
    explain(outputs, recording_profile(r), NULL, ret);
    text_clear(&outputs->written);
    const struct writing w = {outputs, recording_profile(r), ret, &outputs->written, true};
    for (size_t i = 0; i < outputs->n; i++) {
        struct export_notes notes = {0};
        const struct file *file = &outputs->files[i];
        int error = write_file(&w, file, &file->target, &notes);
        first = first ? first : error;
        join_notes(&all, &notes);
    }
    keep_notes(recording_profile(r), &all);
    return first ? first : outputs->error;
}

static bool all_in_place(const struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->n; i++)
        if (!outputs->files[i].target.in_place)
            return false;
    return true;
}

/* What a snapshot shows of P: of a ring a copy of its last part, in *RET_COPY. */
static struct profile *shown_of(const struct outputs *outputs, struct profile *p,
                                struct profile **ret_copy, struct err *err)
{
    int64_t unused;
    *ret_copy = NULL;
    quality_measure(p, &outputs->options->view);
    if (!outputs->options->ring_ns)
        return p;
    *ret_copy = recording_copy(p, err);
    if (*ret_copy)
        (void)window_cut_ring(*ret_copy, &outputs->options->view, &unused);
    return *ret_copy;
}

/* Returns the first error. */
static int write_snapshot(struct outputs *outputs, struct profile *p, struct sampler *running)
{
    int first = 0;
    struct explanation explanation;
    assign_all(outputs, p);
    explain(outputs, p, running, &explanation);
    const struct writing w = {outputs, p, &explanation, &outputs->written, false};
    for (size_t i = 0; i < outputs->n; i++) {
        struct output_target target = outputs->files[i].target;
        struct text path = {0};
        output_snap_path(target.path, outputs->snapshots, &path);
        target.path = path.s;
        struct export_notes notes;
        int error = target.in_place ? 0 : write_file(&w, &outputs->files[i], &target, &notes);
        first = first ? first : error;
        text_release(&path);
    }
    explanation_release(&explanation);
    return first;
}

int outputs_snapshot(struct outputs *outputs, struct recording *r)
{
    struct profile *copy;
    struct err err = {0};
    text_clear(&outputs->written);
    if (all_in_place(outputs)) {
        terminal_warn("no snapshot: its name comes from the output's, and -o names no file");
        return 0;
    }
    outputs->snapshots++;
    recording_snapshot(r);
    struct profile *p = shown_of(outputs, recording_profile(r), &copy, &err);
    int error = p ? write_snapshot(outputs, p, recording_sampler(r)) : -ENOMEM;
    if (!p)
        terminal_error("no snapshot: %s", err.text);
    profile_free(copy);
    recording_snapshot_over(r);
    return error;
}

const char *outputs_written(const struct outputs *outputs)
{
    return outputs->written.s ? outputs->written.s : "";
}

size_t outputs_count(const struct outputs *outputs)
{
    return outputs->n;
}

const struct output_target *outputs_target(const struct outputs *outputs, size_t i)
{
    return &outputs->files[i].target;
}

static void release_file(struct file *file)
{
    output_target_release(&file->target);
    free(file->name);
    free(file->processes);
}

struct outputs *outputs_free(struct outputs *outputs)
{
    if (!outputs)
        return NULL;
    for (size_t i = 0; i < outputs->n; i++)
        release_file(&outputs->files[i]);
    free(outputs->files);
    text_release(&outputs->written);
    growing_file_free(outputs->growing);
    free(outputs);
    return NULL;
}
