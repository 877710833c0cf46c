/* The Firefox Profiler's processed profile: all threads on one time axis, categories by what a
 * thread does, waits as markers with whom they are for.  For https://profiler.firefox.com and its
 * profiler-cli.
 * Source: github.com/firefox-devtools/profiler, docs-developer/processed-profile-format.md and
 * src/types/profile.ts.  Newer versions of the page upgrade older files. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "exporter/formats.h"
#include "exporter/json.h"
#include "exporter/path_timeline.h"
#include "profile/moments.h"
#include "summary/thread_summary.h"
#include "summary/wait_side.h"
#include "summary/wait_text.h"

enum {
    VERSION = 24,           /* of the browser's own format, of which no field is used */
    PROCESSED_VERSION = 47, /* tables in each thread, pids as texts */
    MAX_DEPTH = 500,
    INSTANT_MARKER = 0,
    INTERVAL_MARKER = 1,
};

/* Marks and pauses of the user's are markers of the first thread. */
enum marker_kind { WAIT_MARKER, USER_MARKER, PAUSE_MARKER, MARKER_KINDS };
static const struct {
    const char *name, *tooltip, *key, *label;
} marker_kinds[] = {
    [WAIT_MARKER] = {"Wait", "Wait for {marker.data.whom}", "whom", "Waits for"},
    [USER_MARKER] = {"Mark", "{marker.data.text}", "text", "Text"},
    [PAUSE_MARKER] = {"Pause", "{marker.data.text}", "text", "Text"},
};

enum category { RUNS, SPINS, WAITS_FOR_CPU, BLOCKED, STOPPED, UNKNOWN, CATEGORIES };
static const struct {
    const char *name, *color;
} categories[] = {
    [RUNS] = {"Running", "green"},
    [SPINS] = {"Spinning", "yellow"},
    [WAITS_FOR_CPU] = {"Waiting for a CPU", "orange"},
    [BLOCKED] = {"Blocked", "blue"},
    [STOPPED] = {"Stopped", "red"},
    [UNKNOWN] = {"Not seen", "grey"}, /* the page wants a grey one */
};

struct document {
    struct json j;
    const struct profile *p;
    struct view *view;
    struct paths *paths;
    struct thread_summaries threads;
    int64_t bucket_ns; /* 0: in order */
    /* Of one thread: its tables, whose rows are counted from 1; 0: not in them. */
    uint32_t *stacks; /* by path */
    uint32_t *funcs;  /* by frame */
    uint32_t n_stacks, n_funcs;
};

/* Of a stack that ends in FRAME. */
static enum category category_of_frame(const struct document *d, uint32_t frame)
{
    struct path_frame shown = paths_see_frame(d->paths, frame);
    if (!shown.waits)
        return RUNS;
    if (shown.spins)
        return SPINS;
    const struct shown_frame *f =
        frame <= view_frame_count(d->view) ? view_frame(d->view, frame) : NULL;
    if (f && f->wait == WAIT_CPU)
        return WAITS_FOR_CPU;
    return f && (f->wait == WAIT_STOPPED || f->wait == WAIT_TRACED || f->wait == WAIT_FROZEN)
               ? STOPPED
               : BLOCKED;
}

static enum category category_of(const struct document *d, uint32_t path)
{
    return path ? category_of_frame(d, paths_frame(d->paths, path)) : UNKNOWN;
}

/* ---- columns ---- */

static void key_array(struct document *d, const char *key)
{
    json_newline(&d->j);
    json_array_field(&d->j, key);
}

/* NUMBER, which counts from 1, as an index from 0; 0: null. */
static void index_or_null(struct document *d, uint32_t number)
{
    if (number)
        json_int(&d->j, number - (int64_t)1);
    else
        json_null(&d->j);
}

/* N times the same. */
static void column_of(struct document *d, const char *key, size_t n, int64_t value)
{
    key_array(d, key);
    for (size_t i = 0; i < n; i++)
        json_int(&d->j, value);
    json_end_array(&d->j);
}

static void column_of_nulls(struct document *d, const char *key, size_t n)
{
    key_array(d, key);
    for (size_t i = 0; i < n; i++)
        json_null(&d->j);
    json_end_array(&d->j);
}

static void column_of_false(struct document *d, const char *key, size_t n)
{
    key_array(d, key);
    for (size_t i = 0; i < n; i++)
        json_bool(&d->j, false);
    json_end_array(&d->j);
}

static double ms(int64_t ns)
{
    int64_t us = ns / NS_PER_US;
    return (double)us / 1000;
}

/* ---- one thread's tables ---- */

static struct path_timeline timeline_of(const struct document *d, const struct thread_summary *t)
{
    struct path_timeline l = {0};
    path_timeline_add_thread(&l, d->paths, t->thread, WEIGHT_WALL, profile_end_ns(d->p));
    if (d->bucket_ns)
        path_timeline_bucket(&l, d->paths, d->bucket_ns);
    return l;
}

/* Numbers the stacks of L and their functions. */
static void number(struct document *d, const struct path_timeline *l)
{
    memset(d->stacks, 0, (paths_count(d->paths) + (size_t)1) * sizeof *d->stacks);
    memset(d->funcs, 0, (paths_frame_count(d->paths) + (size_t)1) * sizeof *d->funcs);
    d->n_stacks = d->n_funcs = 0;
    for (size_t i = 0; i < l->n; i++)
        for (uint32_t path = l->segments[i].path; path && !d->stacks[path];
             path = paths_parent(d->paths, path))
            d->stacks[path] = 1;
    for (uint32_t path = 1; path <= paths_count(d->paths); path++) {
        uint32_t frame = paths_frame(d->paths, path);
        if (!d->stacks[path])
            continue;
        d->stacks[path] = ++d->n_stacks; /* parents come first */
        if (!d->funcs[frame])
            d->funcs[frame] = ++d->n_funcs;
    }
}

static void write_stacks(struct document *d)
{
    struct json *j = &d->j;
    uint32_t n_paths = paths_count(d->paths);
    json_key(j, "stackTable");
    json_object(j);
    key_array(d, "frame");
    for (uint32_t path = 1; path <= n_paths; path++)
        if (d->stacks[path])
            json_int(j, d->funcs[paths_frame(d->paths, path)] - (int64_t)1);
    json_end_array(j);
    key_array(d, "prefix");
    for (uint32_t path = 1; path <= n_paths; path++) {
        if (!d->stacks[path])
            continue;
        uint32_t parent = paths_parent(d->paths, path);
        index_or_null(d, parent ? d->stacks[parent] : 0);
    }
    json_end_array(j);
    key_array(d, "category");
    for (uint32_t path = 1; path <= n_paths; path++)
        if (d->stacks[path])
            json_int(j, category_of(d, path));
    json_end_array(j);
    column_of(d, "subcategory", d->n_stacks, 0);
    json_int_field(j, "length", d->n_stacks);
    json_end_object(j);
}

/* Frames in the order of their numbers, which is that of the stacks; the caller frees it. */
static uint32_t *frames_in_order(const struct document *d)
{
    uint32_t *ret = xcalloc(d->n_funcs + (size_t)1, sizeof *ret);
    for (uint32_t frame = 1; frame <= paths_frame_count(d->paths); frame++)
        if (d->funcs[frame])
            ret[d->funcs[frame] - 1] = frame;
    return ret;
}

/* A frame has the line of its function: with --lines each line is a function of its own. */
static void write_frames(struct document *d, const uint32_t *frames)
{
    struct json *j = &d->j;
    size_t n = d->n_funcs;
    json_key(j, "frameTable");
    json_object(j);
    key_array(d, "func");
    for (size_t i = 0; i < n; i++)
        json_int(j, (int64_t)i);
    json_end_array(j);
    key_array(d, "line");
    for (size_t i = 0; i < n; i++) {
        uint32_t line = paths_see_frame(d->paths, frames[i]).line;
        if (line)
            json_int(j, line);
        else
            json_null(j);
    }
    json_end_array(j);
    column_of(d, "address", n, -1);
    column_of(d, "inlineDepth", n, 0);
    key_array(d, "category");
    for (size_t i = 0; i < n; i++)
        json_int(j, category_of_frame(d, frames[i]));
    json_end_array(j);
    column_of(d, "subcategory", n, 0);
    column_of_nulls(d, "nativeSymbol", n);
    column_of(d, "innerWindowID", n, 0);
    column_of_nulls(d, "implementation", n);
    column_of_nulls(d, "column", n);
    json_int_field(j, "length", (int64_t)n);
    json_end_object(j);
}

/* Strings: two for each function, its name and its file; then those of markers. */
enum { STRINGS_A_FUNC = 2 };

static void write_funcs(struct document *d, const uint32_t *frames)
{
    struct json *j = &d->j;
    size_t n = d->n_funcs;
    json_key(j, "funcTable");
    json_object(j);
    key_array(d, "name");
    for (size_t i = 0; i < n; i++)
        json_int(j, (int64_t)(i * STRINGS_A_FUNC));
    json_end_array(j);
    key_array(d, "fileName");
    for (size_t i = 0; i < n; i++) {
        if (paths_see_frame(d->paths, frames[i]).file)
            json_int(j, (int64_t)(i * STRINGS_A_FUNC + 1));
        else
            json_null(j);
    }
    json_end_array(j);
    column_of_false(d, "isJS", n);
    column_of_false(d, "relevantForJS", n);
    column_of(d, "resource", n, -1);
    column_of_nulls(d, "lineNumber", n);
    column_of_nulls(d, "columnNumber", n);
    json_int_field(j, "length", (int64_t)n);
    json_end_object(j);
}

static void write_strings(struct document *d, const uint32_t *frames)
{
    key_array(d, "stringArray");
    for (size_t i = 0; i < d->n_funcs; i++) {
        struct path_frame f = paths_see_frame(d->paths, frames[i]);
        json_string(&d->j, f.name);
        json_string(&d->j, f.file ? f.file : "");
    }
    for (int i = 0; i < MARKER_KINDS; i++)
        json_string(&d->j, marker_kinds[i].name);
    json_end_array(&d->j);
}

/* ---- samples ---- */

static void write_samples(struct document *d, const struct path_timeline *l)
{
    struct json *j = &d->j;
    int64_t at_ns = 0;
    json_key(j, "samples");
    json_object(j);
    key_array(d, "stack");
    for (size_t i = 0; i < l->n; i++) {
        uint32_t path = l->segments[i].path;
        index_or_null(d, path ? d->stacks[path] : 0);
    }
    json_end_array(j);
    key_array(d, "time");
    for (size_t i = 0; i < l->n; at_ns += l->segments[i++].ns)
        json_number(j, ms(at_ns));
    json_end_array(j);
    key_array(d, "weight"); /* up to the next time, which is of whole microseconds */
    at_ns = 0;
    for (size_t i = 0; i < l->n; at_ns += l->segments[i++].ns)
        json_number(j, ms((at_ns + l->segments[i].ns) / NS_PER_US * NS_PER_US -
                          at_ns / NS_PER_US * NS_PER_US));
    json_end_array(j);
    json_string_field(j, "weightType", "tracing-ms");
    key_array(d, "threadCPUDelta"); /* since the sample before */
    for (size_t i = 0; i < l->n; i++) {
        enum category before = i ? category_of(d, l->segments[i - 1].path) : BLOCKED;
        json_int(j, i && (before == RUNS || before == SPINS) ? l->segments[i - 1].ns : 0);
    }
    json_end_array(j);
    json_int_field(j, "length", (int64_t)l->n);
    json_end_object(j);
}

/* ---- markers ---- */

/* Whom or what RUN waits for, in words; empty: unknown. */
static void add_whom(const struct document *d, const struct profile_thread *t,
                     const struct run *run, struct text *out)
{
    const struct wait *wait = profile_see_wait(d->p, run->at.wait);
    struct wait_side side = wait_side_of(d->p, d->view, run->at);
    pid_t pid = profile_see_process(d->p, t->process)->pid;
    if (!wait || run->state != RUN_BLOCKED || !side.thing)
        return;
    if (wait_side_is_kernels(side.thing)) {
        wait_side_add_text(out, d->p, &side, pid, false);
        return;
    }
    wait_side_add_thing(out, d->p, &side);
    if (side.blocker.kind == BLOCKER_THREAD)
        text_addf(out, ", held by thread %d", side.blocker.tid);
    if (side.blocker.kind == BLOCKER_THREAD && side.blocker.pid != pid)
        text_addf(out, " of process %d", side.blocker.pid);
}

struct marker {
    enum marker_kind kind;
    int64_t start_ns, end_ns;
    char *words;
};
struct markers {
    struct marker *items;
    size_t n, capacity;
};

static void add_marker(struct markers *m, const struct marker *marker)
{
    m->items = array_reserve(m->items, &m->capacity, m->n + 1, sizeof *m->items);
    m->items[m->n++] = *marker;
}

/* None where the order is given up. */
static void add_waits(struct markers *m, const struct document *d, const struct profile_thread *t)
{
    for (size_t i = 0; i < t->n_runs && !d->bucket_ns && !t->n_folded; i++) {
        const struct run *run = &t->runs[i];
        struct text whom = {0};
        add_whom(d, t, run, &whom);
        if (whom.len)
            add_marker(m, &(struct marker){WAIT_MARKER, run->start_ns, run_end_ns(run), whom.s});
        else
            text_release(&whom);
    }
}

/* They lie on no thread: the first one has them. */
static void add_moments(struct markers *m, const struct document *d)
{
    size_t n;
    const struct user_mark *marks = profile_marks(d->p, &n);
    for (size_t i = 0; i < n; i++)
        add_marker(m, &(struct marker){USER_MARKER, marks[i].at_ns, marks[i].at_ns,
                                       xstrdup(profile_text(d->p, marks[i].text))});
    const struct user_pause *pauses = profile_pauses(d->p, &n);
    for (size_t i = 0; i < n; i++) {
        struct text words = {0};
        text_add(&words, "paused for ");
        text_add_span(&words, (double)pauses[i].paused_ns / NS_PER_S);
        add_marker(m, &(struct marker){PAUSE_MARKER, pauses[i].at_ns, pauses[i].at_ns, words.s});
    }
}

static void write_marker_times(struct document *d, const struct markers *m)
{
    struct json *j = &d->j;
    key_array(d, "startTime");
    for (size_t i = 0; i < m->n; i++)
        json_number(j, ms(m->items[i].start_ns));
    json_end_array(j);
    key_array(d, "endTime");
    for (size_t i = 0; i < m->n; i++) {
        if (m->items[i].kind == WAIT_MARKER)
            json_number(j, ms(m->items[i].end_ns));
        else
            json_null(j);
    }
    json_end_array(j);
    key_array(d, "phase");
    for (size_t i = 0; i < m->n; i++)
        json_int(j, m->items[i].kind == WAIT_MARKER ? INTERVAL_MARKER : INSTANT_MARKER);
    json_end_array(j);
}

/* FIRST: T is the first thread. */
static void write_markers(struct document *d, const struct profile_thread *t, bool first)
{
    struct json *j = &d->j;
    struct markers m = {0};
    add_waits(&m, d, t);
    if (first)
        add_moments(&m, d);
    json_key(j, "markers");
    json_object(j);
    key_array(d, "data");
    for (size_t i = 0; i < m.n; i++) {
        json_object(j);
        json_string_field(j, "type", marker_kinds[m.items[i].kind].name);
        json_string_field(j, marker_kinds[m.items[i].kind].key, m.items[i].words);
        json_end_object(j);
    }
    json_end_array(j);
    key_array(d, "name");
    for (size_t i = 0; i < m.n; i++)
        json_int(j, (int64_t)d->n_funcs * STRINGS_A_FUNC + m.items[i].kind);
    json_end_array(j);
    write_marker_times(d, &m);
    key_array(d, "category");
    for (size_t i = 0; i < m.n; i++)
        json_int(j, m.items[i].kind == WAIT_MARKER ? BLOCKED : UNKNOWN);
    json_end_array(j);
    json_int_field(j, "length", (int64_t)m.n);
    json_end_object(j);
    for (size_t i = 0; i < m.n; i++)
        free(m.items[i].words);
    free(m.items);
}

/* ---- all ---- */

static void write_empty_tables(struct document *d)
{
    static const char *const resources[] = {"lib", "name", "host", "type"};
    static const char *const symbols[] = {"libIndex", "address", "name", "functionSize"};
    json_key(&d->j, "resourceTable");
    json_object(&d->j);
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
        column_of_nulls(d, resources[i], 0);
    json_int_field(&d->j, "length", 0);
    json_end_object(&d->j);
    json_key(&d->j, "nativeSymbols");
    json_object(&d->j);
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        column_of_nulls(d, symbols[i], 0);
    json_int_field(&d->j, "length", 0);
    json_end_object(&d->j);
}

static void write_head(struct document *d, const struct thread_summary *t)
{
    struct json *j = &d->j;
    const struct profile_process *process = profile_see_process(d->p, t->thread->process);
    char pid[16];
    (void)snprintf(pid, sizeof pid, "%d", process->pid);
    json_string_field(j, "processType", "default");
    json_int_field(j, "processStartupTime", 0);
    json_key(j, "processShutdownTime");
    json_null(j);
    json_number_field(j, "registerTime", ms(t->thread->start_ns));
    if (json_known(j, "unregisterTime", t->thread->ended))
        json_number(j, ms(t->thread->end_ns));
    key_array(d, "pausedRanges");
    json_end_array(j);
    json_string_field(j, "name", t->label);
    json_bool_field(j, "isMainThread", t->thread->main);
    json_string_field(j, "processName", profile_text(d->p, process->comm));
    json_string_field(j, "pid", pid);
    json_int_field(j, "tid", t->thread->tid);
}

static void write_thread(struct document *d, const struct thread_summary *t, bool first)
{
    struct path_timeline l = timeline_of(d, t);
    number(d, &l);
    uint32_t *frames = frames_in_order(d);
    json_newline(&d->j);
    json_object(&d->j);
    write_head(d, t);
    write_samples(d, &l);
    write_markers(d, t->thread, first);
    write_stacks(d);
    write_frames(d, frames);
    write_funcs(d, frames);
    write_empty_tables(d);
    write_strings(d, frames);
    json_end_object(&d->j);
    free(frames);
    path_timeline_release(&l);
}

static void write_categories(struct document *d)
{
    key_array(d, "categories");
    for (int i = 0; i < CATEGORIES; i++) {
        json_object(&d->j);
        json_string_field(&d->j, "name", categories[i].name);
        json_string_field(&d->j, "color", categories[i].color);
        key_array(d, "subcategories");
        json_string(&d->j, "Other");
        json_end_array(&d->j);
        json_end_object(&d->j);
    }
    json_end_array(&d->j);
}

static void write_kind(struct document *d, enum marker_kind kind)
{
    static const char *const places[] = {"marker-chart", "marker-table", "timeline-overview"};
    struct json *j = &d->j;
    char label[32];
    (void)snprintf(label, sizeof label, "{marker.data.%s}", marker_kinds[kind].key);
    json_object(j);
    json_string_field(j, "name", marker_kinds[kind].name);
    json_string_field(j, "tooltipLabel", marker_kinds[kind].tooltip);
    json_string_field(j, "tableLabel", label);
    json_string_field(j, "chartLabel", label);
    key_array(d, "display");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        json_string(j, places[i]);
    json_end_array(j);
    key_array(d, "data");
    json_object(j);
    json_string_field(j, "key", marker_kinds[kind].key);
    json_string_field(j, "label", marker_kinds[kind].label);
    json_string_field(j, "format", "string");
    json_bool_field(j, "searchable", true);
    json_end_object(j);
    json_end_array(j);
    json_end_object(j);
}

static void write_schema(struct document *d)
{
    key_array(d, "markerSchema");
    for (enum marker_kind kind = 0; kind < MARKER_KINDS; kind++)
        write_kind(d, kind);
    json_end_array(&d->j);
}

/* Milliseconds since 1970; 0: unknown. */
static int64_t started_ms(const struct profile *p)
{
    struct tm tm = {0};
    const char *text = profile_metadata_text(p, "started");
    return strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) ? (int64_t)timegm(&tm) * 1000 : 0;
}

static void write_meta(struct document *d)
{
    struct json *j = &d->j;
    double rate_hz = profile_number(d->p, METRIC_RATE_HZ);
    json_key(j, "meta");
    json_object(j);
    json_number_field(j, "interval", rate_hz > 0 ? 1000 / rate_hz : 10);
    json_int_field(j, "startTime", started_ms(d->p));
    json_int_field(j, "processType", 0);
    json_string_field(
        j, "product",
        d->threads.n
            ? profile_text(
                  d->p, profile_see_process(d->p, d->threads.threads[0].thread->process)->command)
            : "wallspy");
    json_string_field(j, "importedFrom", "wallspy " WALLSPY_VERSION);
    json_int_field(j, "stackwalk", 1);
    json_int_field(j, "version", VERSION);
    json_int_field(j, "preprocessedProfileVersion", PROCESSED_VERSION);
    json_bool_field(j, "symbolicated", true);
    json_bool_field(j, "usesOnlyOneStackType", true);
    json_bool_field(j, "doesNotUseFrameImplementation", true);
    json_bool_field(j, "sourceCodeIsNotOnSearchfox", true);
    json_bool_field(j, "keepProfileThreadOrder", true);
    json_key(j, "sampleUnits");
    json_object(j);
    json_string_field(j, "time", "ms");
    json_string_field(j, "eventDelay", "ms");
    json_string_field(j, "threadCPUDelta", "ns");
    json_end_object(j);
    write_categories(d);
    write_schema(d);
    json_end_object(j);
}

/* ---- the limit ---- */

static uint64_t sample_bytes(const struct document *d)
{
    enum { BYTES_A_SAMPLE = 40, BYTES_A_MARKER = 60 };
    uint64_t bytes = 0;
    for (size_t i = 0; i < d->threads.n; i++) {
        struct path_timeline l = timeline_of(d, &d->threads.threads[i]);
        bytes += l.n * (size_t)(d->bucket_ns ? BYTES_A_SAMPLE : BYTES_A_SAMPLE + BYTES_A_MARKER);
        path_timeline_release(&l);
    }
    return bytes;
}

/* In ever longer steps of time, within which equal stacks are added up. */
static void hold_limit(struct document *d, uint64_t max_bytes, struct export_notes *ret_notes)
{
    const int64_t first_ns = 50 * (int64_t)NS_PER_MS;
    struct text note = {0};
    while (max_bytes && sample_bytes(d) > max_bytes && d->bucket_ns < profile_end_ns(d->p))
        d->bucket_ns = d->bucket_ns ? 4 * d->bucket_ns : first_ns;
    if (!d->bucket_ns)
        return;
    text_add(&note, "in steps of ");
    text_add_span(&note, (double)d->bucket_ns / NS_PER_S);
    (void)snprintf(ret_notes->coarsened, sizeof ret_notes->coarsened, "%s", note.s);
    text_release(&note);
}

int firefox_write(const struct profile *p, struct view *v, const struct export_findings *findings,
                  uint64_t max_bytes, FILE *out, struct export_notes *ret_notes)
{
    struct document d = {.j = {.out = out}, .p = p, .view = v, .paths = paths_new(p, v, MAX_DEPTH)};
    (void)findings; /* the page has no place for sentences */
    thread_summaries_init(&d.threads, p, v);
    hold_limit(&d, max_bytes, ret_notes);
    ret_notes->stacks_shortened = paths_shortened(d.paths);
    d.stacks = xcalloc(paths_count(d.paths) + (size_t)1, sizeof *d.stacks);
    d.funcs = xcalloc(paths_frame_count(d.paths) + (size_t)1, sizeof *d.funcs);
    json_object(&d.j);
    write_meta(&d);
    key_array(&d, "libs");
    json_end_array(&d.j);
    key_array(&d, "threads");
    for (size_t i = 0; i < d.threads.n; i++)
        write_thread(&d, &d.threads.threads[i], i == 0);
    json_end_array(&d.j);
    json_end_object(&d.j);
    thread_summaries_release(&d.threads);
    free(d.stacks);
    free(d.funcs);
    paths_free(d.paths);
    return json_finish(&d.j);
}
