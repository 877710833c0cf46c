#include "cli/ctl_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/json_head.h"
#include "profile/moments.h"
#include "summary/coverage.h"
#include "summary/process_name.h"
#include "worker/process_set.h"

enum {
    MOST_TARGETS = 20,
};

struct status {
    struct recording *recording;
    const struct profile *p;
    process_id targets[MOST_ALIVE]; /* that have not ended */
    size_t n_targets;
    double seconds, rate_hz, seen;
    uint64_t ticks;
    int64_t paused_ns; /* −1: it is not paused */
    size_t n_marks;
};

static void read_status(struct status *s, struct recording *r)
{
    struct sampler *sampler = recording_sampler(r);
    s->recording = r;
    s->p = recording_profile(r);
    s->n_targets = process_set_alive(recording_processes(r), s->targets, MOST_ALIVE);
    s->n_targets = s->n_targets < MOST_ALIVE ? s->n_targets : MOST_ALIVE;
    s->seconds = (double)recording_running_ns(r) / NS_PER_S;
    s->ticks = counters_get(sampler_counters(sampler), COUNT_TICKS);
    s->rate_hz = s->seconds > 0 ? (double)s->ticks / s->seconds : 0;
    s->paused_ns = recording_paused_ns(r);
    (void)profile_marks(s->p, &s->n_marks);
}

/* The absolute path of output number I, which the caller frees; NULL: it has none. */
static char *path_of(const struct outputs *outputs, size_t i)
{
    const struct output_target *target = outputs_target(outputs, i);
    char *folder = target->in_place || *target->path == '/' ? NULL : getcwd(NULL, 0);
    char *path = target->in_place ? NULL
                 : folder         ? xasprintf("%s/%s", folder, target->path)
                                  : xstrdup(target->path);
    free(folder);
    return path;
}

/* What there is already of a file that grows while it is recorded; −1: nothing. */
static int64_t bytes_of(const char *path)
{
    struct stat st;
    char *part = xasprintf("%s.part", path);
    int64_t bytes = stat(part, &st) == 0 ? st.st_size : -1;
    free(part);
    return bytes;
}

/* ---- JSON ---- */

static void write_targets(struct json *j, const struct status *s)
{
    json_array_field(j, "targets");
    for (size_t i = 0; i < s->n_targets; i++) {
        char *title = title_of_process(s->p, s->targets[i]);
        json_object(j);
        json_int_field(j, "pid", profile_see_process(s->p, s->targets[i])->pid);
        json_string_field(j, "name", title);
        json_end_object(j);
        free(title);
    }
    json_end_array(j);
}

static void write_outputs(struct json *j, const struct outputs *outputs)
{
    json_array_field(j, "outputs");
    for (size_t i = 0; i < outputs_count(outputs); i++) {
        char *path = path_of(outputs, i);
        int64_t bytes = path ? bytes_of(path) : -1;
        json_object(j);
        json_string_field(j, "path", path);
        if (json_known(j, "bytes", bytes >= 0))
            json_int(j, bytes);
        json_end_object(j);
        free(path);
    }
    json_end_array(j);
}

static void number_field(struct json *j, const char *key, double value)
{
    json_key(j, key);
    json_number(j, value);
}

static void write_json(const struct status *s, const struct ctl_progress *progress,
                       const struct outputs *outputs, FILE *out)
{
    struct json j = {.out = out};
    char utc[CLOCK_UTC_BYTES];
    clock_utc_ms_text(progress->since_utc_ns, utc);
    json_head(&j, "status/1");
    json_int_field(&j, "pid", getpid());
    write_targets(&j, s);
    json_string_field(&j, "since", utc);
    number_field(&j, "recorded_s", s->seconds);
    json_bool_field(&j, "paused", s->paused_ns >= 0);
    number_field(&j, "paused_s", s->paused_ns > 0 ? (double)s->paused_ns / NS_PER_S : 0);
    number_field(&j, "rate_hz", s->rate_hz);
    number_field(&j, "rate_asked_hz", progress->rate_asked_hz);
    number_field(&j, "rate_now_hz", sampler_rate_hz(recording_sampler(s->recording)));
    json_int_field(&j, "ticks", (int64_t)s->ticks);
    json_int_field(&j, "threads", sampler_thread_count(recording_sampler(s->recording)));
    number_field(&j, "seen_share", s->seen);
    number_field(&j, "overhead", recording_shares(s->recording).lost);
    json_int_field(&j, "marks", (int64_t)s->n_marks);
    write_outputs(&j, outputs);
    json_int_field(&j, "snapshots", progress->snapshots);
    json_key(&j, "since_snapshot_s");
    if (progress->snapshots)
        json_number(&j, (double)(clock_now_ns() - progress->snapshot_ns) / NS_PER_S);
    else
        json_null(&j);
    json_end_object(&j);
    (void)json_finish(&j);
}

static void add_json(const struct status *s, const struct ctl_progress *progress,
                     const struct outputs *outputs, struct text *out)
{
    char *bytes = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&bytes, &len);
    if (!file)
        alloc_failed();
    write_json(s, progress, outputs, file);
    (void)fclose(file);
    text_add_bytes(out, bytes, len);
    free(bytes);
}

/* ---- text ---- */

/* "1234 (python3 train.py)" */
static void add_target(struct text *out, const struct profile *p, process_id id)
{
    char *title = title_of_process(p, id);
    text_addf(out, "%d (", profile_see_process(p, id)->pid);
    text_add_tame(out, title, strlen(title));
    text_add(out, ")");
    free(title);
}

static void add_outputs(const struct outputs *outputs, struct text *out)
{
    for (size_t i = 0; i < outputs_count(outputs); i++) {
        char *path = path_of(outputs, i);
        int64_t bytes = path ? bytes_of(path) : -1;
        text_add(out, "output: ");
        if (path)
            text_add_tame(out, path, strlen(path));
        else
            text_add(out, "a stream or device");
        if (bytes >= 0)
            text_addf(out, " (%lld bytes so far)", (long long)bytes);
        text_add(out, "\n");
        free(path);
    }
}

static void add_text(const struct status *s, const struct ctl_progress *progress,
                     const struct outputs *outputs, struct text *out)
{
    char utc[CLOCK_UTC_BYTES];
    struct sampler *sampler = recording_sampler(s->recording);
    clock_utc_ms_text(progress->since_utc_ns, utc);
    text_addf(out, "wallspy: %d\n", getpid());
    for (size_t i = 0; i < s->n_targets && i < MOST_TARGETS; i++) {
        text_add(out, "target: ");
        add_target(out, s->p, s->targets[i]);
        text_add(out, "\n");
    }
    if (s->n_targets > MOST_TARGETS)
        text_addf(out, "target: and %zu more\n", s->n_targets - MOST_TARGETS);
    text_addf(out, "since: %s\nrecorded: ", utc);
    text_add_span(out, s->seconds);
    text_add(out, "\npaused: ");
    if (s->paused_ns >= 0)
        text_add_span(out, (double)s->paused_ns / NS_PER_S);
    else
        text_add(out, "no");
    text_addf(out, "\nrate: %.1f of %g Hz\n", s->rate_hz, progress->rate_asked_hz);
    text_addf(out, "ticks: %llu\n", (unsigned long long)s->ticks);
    text_addf(out, "threads: %u\nseen: %d%%\n", sampler_thread_count(sampler),
              (int)(100 * s->seen + 0.001));
    text_addf(out, "overhead: %.2f%%\nmarks: %zu\n", 100 * recording_shares(s->recording).lost,
              s->n_marks);
    add_outputs(outputs, out);
    text_addf(out, "snapshots: %u", progress->snapshots);
    if (progress->snapshots) {
        text_add(out, ", the last one ");
        text_add_span(out, (double)(clock_now_ns() - progress->snapshot_ns) / NS_PER_S);
        text_add(out, " ago");
    }
    text_add(out, "\n");
}

void ctl_status_add(const struct ctl_progress *progress, struct recording *r,
                    const struct outputs *outputs, bool json, struct text *out)
{
    struct status *s = xcalloc(1, sizeof *s);
    read_status(s, r);
    s->seen = coverage_so_far(s->p, INT64_MAX);
    if (json)
        add_json(s, progress, outputs, out);
    else
        add_text(s, progress, outputs, out);
    free(s);
}

void ctl_status_add_targets(struct recording *r, struct text *out)
{
    struct status *s = xcalloc(1, sizeof *s);
    read_status(s, r);
    for (size_t i = 0; i < s->n_targets; i++)
        text_addf(out, "%d\n", profile_see_process(s->p, s->targets[i])->pid);
    free(s);
}

void ctl_status_add_brief(struct recording *r, struct text *out)
{
    struct status *s = xcalloc(1, sizeof *s);
    read_status(s, r);
    add_target(out, s->p, s->n_targets ? s->targets[0] : (process_id){1});
    if (s->n_targets > 1)
        text_addf(out, " and %zu more", s->n_targets - 1);
    text_add(out, s->paused_ns >= 0 ? ": paused, recorded " : ": recorded ");
    text_add_span(out, s->seconds);
    text_addf(out, ", by wallspy %d\n", getpid());
    free(s);
}
