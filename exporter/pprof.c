/* pprof's profile.proto, for `go tool pprof`, Pyroscope, Parca and others: each stack of a thread
 * once, with its wall time, CPU time, waits for a CPU and time off the CPU; the thread is a label.
 * Source: github.com/google/pprof, proto/profile.proto. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "exporter/formats.h"
#include "exporter/path_timeline.h"
#include "exporter/protobuf.h"
#include "profile/kept.h"
#include "summary/thread_summary.h"

/* Numbers of fields. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE,
    PROFILE_MAPPING,
    PROFILE_LOCATION,
    PROFILE_FUNCTION
};
enum {
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE
};
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum {
    MAPPING_ID = 1,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES,
    MAPPING_HAS_LINES
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_LINE };

static const struct {
    enum weight weight;
    const char *name;
} values[] = {
    {WEIGHT_WALL, "wall"},
    {WEIGHT_CPU, "cpu"},
    {WEIGHT_WAIT_CPU, "wait-cpu"},
    {WEIGHT_OFF_CPU, "off-cpu"},
};
enum { VALUES = sizeof values / sizeof *values };

struct string {
    char *s;
};
/* The file as it is written. */
struct pprof {
    struct paths *paths;
    struct view *view;
    FILE *out;
    int error;
    struct string *strings; /* by their number; 0 is "" */
    size_t n_strings, strings_capacity;
    struct index by_text;
    struct map mappings; /* ids, by the number of the path: 1, 2, 3 …, as Parca demands */
    uint64_t n_mappings;
    int64_t one_part;        /* subtrees below one part in this many are folded; 0: none */
    int64_t (*sums)[VALUES]; /* of one thread, by path */
};

/* ---- the pieces ---- */

static bool is_string(const void *item, const void *wanted)
{
    return str_eq(((const struct string *)item)->s, wanted);
}

/* The number of S, made if it is new.  What a name holds is no order to a terminal. */
static uint64_t string(struct pprof *w, const char *s)
{
    struct text tame = {0};
    text_add(&tame, "");
    text_add_tame(&tame, s ? s : "", s ? strlen(s) : 0);
    uint64_t hash = hash_bytes(tame.s, tame.len);
    uint32_t at = index_find(&w->by_text, hash, w->strings, sizeof *w->strings, is_string, tame.s);
    if (at != INDEX_NONE) {
        text_release(&tame);
        return at;
    }
    w->strings =
        array_reserve(w->strings, &w->strings_capacity, w->n_strings + 1, sizeof *w->strings);
    index_add(&w->by_text, hash, (uint32_t)w->n_strings);
    w->strings[w->n_strings] = (struct string){tame.s};
    return w->n_strings++;
}

/* Writes PART as a field of the file, and releases it. */
static void put(struct pprof *w, uint32_t field, struct text *part)
{
    struct text whole = {0};
    protobuf_message(&whole, field, part);
    if (!w->error && fwrite(whole.s, 1, whole.len, w->out) != whole.len)
        w->error = errno ? -errno : -EIO;
    text_release(&whole);
    text_release(part);
}

static void put_number(struct pprof *w, uint32_t field, uint64_t value)
{
    struct text whole = {0};
    protobuf_number(&whole, field, value);
    if (!w->error && whole.len && fwrite(whole.s, 1, whole.len, w->out) != whole.len)
        w->error = errno ? -errno : -EIO;
    text_release(&whole);
}

static void put_types(struct pprof *w)
{
    for (int i = 0; i < VALUES; i++) {
        struct text type = {0};
        protobuf_number(&type, TYPE_NAME, string(w, values[i].name));
        protobuf_number(&type, TYPE_UNIT, string(w, "nanoseconds"));
        put(w, PROFILE_SAMPLE_TYPE, &type);
    }
    put_number(w, PROFILE_DEFAULT_TYPE, string(w, values[0].name));
}

/* ---- samples ---- */

/* KEY with TEXT, or with NUMBER if TEXT is NULL. */
static void add_label(struct pprof *w, struct text *sample, const char *key, const char *text,
                      int64_t number)
{
    struct text label = {0};
    protobuf_number(&label, LABEL_KEY, string(w, key));
    if (text)
        protobuf_number(&label, LABEL_TEXT, string(w, text));
    else
        protobuf_number(&label, LABEL_NUMBER, (uint64_t)number);
    protobuf_message(sample, SAMPLE_LABEL, &label);
    text_release(&label);
}

/* Of a time that the kernel counted in a state in which no sample found the thread. */
static const char not_sampled[] = "[not sampled]";

/* PATH 0: of no known one. */
static void put_sample(struct pprof *w, const struct profile *p, const struct thread_summary *t,
                       uint32_t path)
{
    struct text sample = {0};
    struct text numbers = {0};
    const struct profile_process *process = profile_see_process(p, t->thread->process);
    for (uint32_t at = path; at; at = paths_parent(w->paths, at))
        protobuf_packed(&numbers, paths_frame(w->paths, at));
    if (!path)
        protobuf_packed(&numbers, paths_add_frame(w->paths, not_sampled));
    protobuf_message(&sample, SAMPLE_LOCATIONS, &numbers);
    for (int i = 0; i < VALUES; i++)
        protobuf_packed(&numbers, (uint64_t)w->sums[path][i]);
    protobuf_message(&sample, SAMPLE_VALUES, &numbers);
    add_label(w, &sample, "thread", t->label, 0);
    add_label(w, &sample, "process", profile_text(p, process->comm), 0);
    add_label(w, &sample, "pid", NULL, process->pid);
    if (t->thread->tid)
        add_label(w, &sample, "tid", NULL, t->thread->tid);
    put(w, PROFILE_SAMPLE, &sample);
    text_release(&numbers);
}

static void add_times(struct pprof *w, const struct profile_thread *t, int value)
{
    struct path_timeline l = {0};
    path_timeline_add_thread(&l, w->paths, t, values[value].weight, 0);
    path_timeline_bucket(&l, w->paths, INT64_MAX);
    if (w->one_part)
        path_timeline_fold(&l, w->paths, path_timeline_total_ns(&l) / w->one_part);
    for (size_t i = 0; i < l.n; i++)
        if (l.segments[i].path || values[value].weight != WEIGHT_WALL) /* that was missed */
            w->sums[l.segments[i].path][value] += l.segments[i].ns;
    path_timeline_release(&l);
}

static void put_thread(struct pprof *w, const struct profile *p, const struct thread_summary *t)
{
    for (int i = 0; i < VALUES; i++)
        add_times(w, t->thread, i);
    for (uint32_t path = 0; path <= paths_count(w->paths); path++) {
        bool any = false;
        for (int i = 0; i < VALUES; i++)
            any |= w->sums[path][i] > 0;
        if (any)
            put_sample(w, p, t, path);
        memset(w->sums[path], 0, sizeof w->sums[path]);
    }
}

/* ---- the limit ---- */

/* About as many as the samples take. */
static uint64_t sample_bytes(const struct pprof *w, const struct thread_summaries *threads)
{
    enum { BYTES_A_FRAME = 3, BYTES_A_SAMPLE = 64 };
    uint64_t bytes = 0;
    for (size_t i = 0; i < threads->n; i++) {
        struct path_timeline l = {0};
        path_timeline_add_thread(&l, w->paths, threads->threads[i].thread, WEIGHT_WALL, 0);
        path_timeline_bucket(&l, w->paths, INT64_MAX);
        if (w->one_part)
            path_timeline_fold(&l, w->paths, path_timeline_total_ns(&l) / w->one_part);
        for (size_t k = 0; k < l.n; k++)
            bytes += BYTES_A_SAMPLE + BYTES_A_FRAME * paths_depth(w->paths, l.segments[k].path);
        path_timeline_release(&l);
    }
    return bytes;
}

/* Light subtrees give their weight to their callers until the file is no larger. */
static void hold_limit(struct pprof *w, const struct thread_summaries *threads, uint64_t max_bytes)
{
    enum { FIRST_PART = 1000000, STEP = 10 };
    while (max_bytes && sample_bytes(w, threads) > max_bytes && w->one_part != 1)
        w->one_part = w->one_part ? w->one_part / STEP : FIRST_PART;
}

/* ---- what they point to ---- */

/* The number of the path of FRAME's module; 0: it has none. */
static uint64_t module_of(struct pprof *w, uint32_t frame)
{
    const struct shown_frame *f =
        frame <= view_frame_count(w->view) ? view_frame(w->view, frame) : NULL;
    return f && f->module_path ? string(w, f->module_path) : 0;
}

/* The id of its mapping; 0: it has none. */
static uint64_t mapping_of(struct pprof *w, uint32_t frame)
{
    uint64_t id = 0;
    uint64_t path = module_of(w, frame);
    if (path)
        (void)map_get(&w->mappings, path, &id);
    return id;
}

static void put_function(struct pprof *w, uint32_t frame)
{
    struct path_frame f = paths_see_frame(w->paths, frame);
    struct text function = {0};
    uint64_t name = string(w, f.name);
    protobuf_number(&function, FUNCTION_ID, frame);
    protobuf_number(&function, FUNCTION_NAME, name);
    protobuf_number(&function, FUNCTION_SYSTEM_NAME, name);
    protobuf_number(&function, FUNCTION_FILE, string(w, f.source ? f.source : f.file));
    protobuf_number(&function, FUNCTION_LINE, f.line);
    put(w, PROFILE_FUNCTION, &function);
}

static void put_location(struct pprof *w, uint32_t frame)
{
    struct text location = {0};
    struct text line = {0};
    protobuf_number(&location, LOCATION_ID, frame);
    protobuf_number(&location, LOCATION_MAPPING, mapping_of(w, frame));
    protobuf_number(&line, LINE_FUNCTION, frame);
    protobuf_number(&line, LINE_LINE, paths_see_frame(w->paths, frame).line);
    protobuf_message(&location, LOCATION_LINE, &line);
    text_release(&line);
    put(w, PROFILE_LOCATION, &location);
}

/* The build id of the module with PATH; "": unknown. */
static const char *build_id_of(const struct profile *p, const char *path)
{
    for (uint32_t i = 1; i <= profile_module_count(p); i++) {
        const struct profile_module *m = profile_get_module(p, (module_id){i});
        if (str_eq(profile_text(p, m->path), path))
            return profile_text(p, m->build_id);
    }
    return "";
}

static void put_mapping(struct pprof *w, const struct profile *p, uint64_t path)
{
    struct text mapping = {0};
    uint64_t build_id = string(w, build_id_of(p, w->strings[path].s));
    map_put(&w->mappings, path, ++w->n_mappings);
    protobuf_number(&mapping, MAPPING_ID, w->n_mappings);
    protobuf_number(&mapping, MAPPING_FILE, path);
    protobuf_number(&mapping, MAPPING_BUILD_ID, build_id);
    protobuf_number(&mapping, MAPPING_HAS_FUNCTIONS, true);
    protobuf_number(&mapping, MAPPING_HAS_FILES, true);
    protobuf_number(&mapping, MAPPING_HAS_LINES, true);
    put(w, PROFILE_MAPPING, &mapping);
}

static void put_frames(struct pprof *w, const struct profile *p)
{
    for (uint32_t frame = 1; frame <= paths_frame_count(w->paths); frame++) {
        uint64_t path = module_of(w, frame);
        if (path && !mapping_of(w, frame))
            put_mapping(w, p, path);
        put_location(w, frame);
        put_function(w, frame);
    }
    map_release(&w->mappings);
}

/* Last: the pieces before have said which. */
static void put_strings(struct pprof *w)
{
    for (size_t i = 0; i < w->n_strings; i++) {
        struct text one = {0};
        text_add(&one, w->strings[i].s);
        put(w, PROFILE_STRING, &one);
        free(w->strings[i].s);
    }
    free(w->strings);
    index_release(&w->by_text);
}

int pprof_write(const struct profile *p, struct view *v, const struct export_findings *findings,
                uint64_t max_bytes, FILE *out, struct export_notes *ret_notes)
{
    struct pprof w = {.paths = paths_new(p, v, 0), .view = v, .out = out};
    struct thread_summaries threads;
    (void)findings; /* the format has comments only */
    w.sums = xcalloc(paths_count(w.paths) + (size_t)1, sizeof *w.sums);
    thread_summaries_init(&threads, p, v);
    hold_limit(&w, &threads, max_bytes);
    if (w.one_part)
        (void)snprintf(ret_notes->coarsened, sizeof ret_notes->coarsened, "paths under %g%% folded",
                       100.0 / (double)w.one_part);
    (void)string(&w, "");
    put_types(&w);
    put_number(&w, PROFILE_TIME, (uint64_t)profile_origin(p)->utc_ns);
    put_number(&w, PROFILE_DURATION, (uint64_t)profile_end_ns(p));
    for (size_t i = 0; i < threads.n; i++)
        put_thread(&w, p, &threads.threads[i]);
    put_frames(&w, p);
    put_strings(&w);
    if (!w.error && fflush(out) != 0)
        w.error = -errno;
    thread_summaries_release(&threads);
    paths_free(w.paths);
    free(w.sums);
    return w.error;
}
