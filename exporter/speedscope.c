/* A profile as speedscope's file: which profiles, in which order (docs/speedscope.md), and the
 * budget that keeps it openable.  Names and time come from thread_summary.h and timeline.h. */
#include "exporter/formats.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "exporter/json.h"
#include "exporter/path_timeline.h"
#include "exporter/profile_plan.h"
#include "exporter/wallspy_block.h"
#include "summary/thread_summary.h"

/* The limits of the page, by trial in Chromium with speedscope 1.25: 2000 frames pass and 3000
 * overflow its stack; 1.1 M nodes (each sample adds those it does not share with the one before)
 * take 1.6 s and 0.7 GB. */
enum {
    MAX_DEPTH = 1000,
    MAX_NODES = 1000000,
};

/* How much was given up to hold the budget; zero: nothing. */
struct coarseness {
    int64_t bucket_ns;     /* of ordered profiles; INT64_MAX: they are aggregated */
    int64_t fold_one_part; /* subtrees below one part in this many are folded */
    bool too_large;        /* all the same: the names alone are */
};

struct cost {
    uint64_t nodes, bytes;
};

struct document {
    const struct profile *p;
    struct view *view;
    const struct export_findings *findings;
    uint64_t max_bytes; /* 0: any number */
    struct export_notes *notes;
    struct paths *paths;
    struct thread_summaries summaries;
    struct profile_plan plan;
    uint32_t *roots;  /* root frame by place in the summaries */
    uint32_t *frames; /* number_frames() */
    struct coarseness coarse;
};

/* ---- root frames ---- */

/* Idle threads share the root frame of their group: they would bury the others. */
static void add_roots(struct document *d)
{
    d->roots = xcalloc(d->summaries.n, sizeof *d->roots);
    for (size_t i = 0; i < d->summaries.n; i++) {
        if (i < d->plan.n_active) {
            d->roots[i] = paths_add_frame(d->paths, d->summaries.threads[i].label);
            continue;
        }
        size_t end = profile_plan_group_end(&d->summaries, i);
        char *name = profile_plan_idle_name(&d->summaries, i, end);
        for (size_t first = i; i < end; i++)
            d->roots[i] = first == i ? paths_add_frame(d->paths, name) : d->roots[first];
        i = end - 1;
        free(name);
    }
}

/* ---- what a profile holds ---- */

/* The time of the threads [FIRST, LAST), coarsened; the caller releases it. */
static struct path_timeline
timeline_of(const struct document *d, const struct file_profile *profile, size_t first, size_t last)
{
    struct path_timeline l = {0};
    int64_t end_ns = profile->ordered ? profile_end_ns(d->p) : 0;
    for (size_t i = first; i < last; i++)
        path_timeline_add_thread(&l, d->paths, d->summaries.threads[i].thread, profile->weight,
                                 end_ns);
    int64_t bucket_ns = profile->ordered ? d->coarse.bucket_ns : INT64_MAX;
    if (bucket_ns)
        path_timeline_bucket(&l, d->paths, bucket_ns);
    if (d->coarse.fold_one_part)
        path_timeline_fold(&l, d->paths, path_timeline_total_ns(&l) / d->coarse.fold_one_part);
    return l;
}

/* Calls EACH with the parts of PROFILE: one root frame (0: none) and its time at a time. */
static void for_each_part(const struct document *d, const struct file_profile *profile,
                          void (*each)(void *ctx, uint32_t root, const struct path_timeline *l),
                          void *ctx)
{
    for (size_t first = profile->first; first < profile->last;) {
        process_id process = d->summaries.threads[first].thread->process;
        size_t last = profile->last;
        if (profile->process.ix && profile->process.ix != process.ix) {
            first++;
            continue;
        }
        if (profile->rooted)
            for (last = first + 1; last < profile->last && d->roots[last] == d->roots[first];)
                last++;
        struct path_timeline l = timeline_of(d, profile, first, last);
        each(ctx, profile->rooted ? d->roots[first] : 0, &l);
        path_timeline_release(&l);
        first = last;
    }
}

/* ---- the budget ---- */

struct costing {
    const struct document *d;
    struct cost cost;
};

static bool is_affordable(const struct costing *c)
{
    return c->cost.nodes <= MAX_NODES && (!c->d->max_bytes || c->cost.bytes <= c->d->max_bytes);
}

static void add_cost(void *ctx, uint32_t root, const struct path_timeline *l)
{
    enum { BYTES_A_FRAME = 7, BYTES_A_WEIGHT = 12 };
    struct costing *c = ctx;
    uint32_t before = 0;
    c->cost.nodes += root != 0;
    /* To count millions of segments of stacks a thousand deep takes many seconds. */
    for (size_t i = 0; i < l->n && is_affordable(c); i++) {
        uint32_t path = l->segments[i].path;
        uint32_t depth = paths_depth(c->d->paths, path);
        c->cost.nodes += depth - paths_common_depth(c->d->paths, before, path);
        c->cost.bytes += (depth + 1) * (uint64_t)BYTES_A_FRAME + BYTES_A_WEIGHT;
        before = path;
    }
}

/* About the size of the table of frames and the "wallspy" block. */
static uint64_t other_bytes(const struct document *d)
{
    enum { BYTES_A_FRAME = 40, BYTES_A_THREAD = 440, BYTES_OF_FACTS = 10000 };
    uint64_t bytes = BYTES_OF_FACTS;
    for (uint32_t i = 1; i <= paths_frame_count(d->paths); i++) {
        struct path_frame f = paths_see_frame(d->paths, i);
        bytes += strlen(f.name) + (f.file ? strlen(f.file) : 0) + BYTES_A_FRAME;
    }
    for (size_t i = 0; i < d->summaries.n; i++)
        bytes += 2 * strlen(d->summaries.threads[i].label) + BYTES_A_THREAD;
    return bytes;
}

static bool fits(const struct document *d)
{
    struct costing c = {.d = d, .cost.bytes = other_bytes(d)};
    for (size_t i = 0; i < d->plan.n && is_affordable(&c); i++)
        for_each_part(d, &d->plan.profiles[i], add_cost, &c);
    return is_affordable(&c);
}

/* Folds the paths below a share of the time, nearly the smallest share that lets the rest fit. */
static void fold_light_paths(struct document *d)
{
    int64_t *fold = &d->coarse.fold_one_part;
    for (int64_t part = 1000000; part >= 1 && !fits(d); part /= 10)
        *fold = part;
    int64_t fitting = *fold;
    d->coarse.too_large = !fits(d);
    for (int64_t finer = 5; finer >= 2 && fitting < 1000000 && !d->coarse.too_large; finer -= 3) {
        *fold = fitting * finer;
        if (fits(d))
            return;
    }
    *fold = fitting;
}

/* 50 ms, 200 ms, 800 ms … */
static int64_t bucket_step_ns(int step)
{
    const int64_t first_ns = 50 * (int64_t)NS_PER_MS;
    return first_ns << 2 * step;
}

/* Coarsens the file until it fits, with the smallest loss first: the order within ever longer steps
 * of time, then all order, then light subtrees. */
static void coarsen(struct document *d)
{
    if (fits(d))
        return;
    int too_fine = -1;
    int fitting = 0;
    while (bucket_step_ns(fitting) < profile_end_ns(d->p) / 4)
        fitting++;
    const int aggregated = fitting;
    while (fitting - too_fine > 1) {
        int middle = too_fine + (fitting - too_fine) / 2;
        d->coarse.bucket_ns = bucket_step_ns(middle);
        if (fits(d))
            fitting = middle;
        else
            too_fine = middle;
    }
    d->coarse.bucket_ns = fitting < aggregated ? bucket_step_ns(fitting) : INT64_MAX;
    if (fitting == aggregated)
        fold_light_paths(d);
}

static void note_coarseness(const struct document *d)
{
    struct text t = {0};
    text_add(&t, "");
    if (d->coarse.bucket_ns == INT64_MAX)
        text_add(&t, "aggregated");
    else if (d->coarse.bucket_ns) {
        text_add(&t, "in steps of ");
        text_add_span(&t, (double)d->coarse.bucket_ns / NS_PER_S);
    }
    if (d->coarse.fold_one_part)
        text_addf(&t, ", paths under %g%% folded", 100.0 / (double)d->coarse.fold_one_part);
    if (d->coarse.too_large)
        text_add(&t, ", still larger than its bound");
    (void)snprintf(d->notes->coarsened, sizeof d->notes->coarsened, "%s", t.s);
    text_release(&t);
}

static void add_notes(struct document *d)
{
    d->notes->stacks_shortened = paths_shortened(d->paths);
    note_coarseness(d);
    for (size_t i = 0; i < d->plan.n && d->coarse.bucket_ns; i++) {
        if (!d->plan.profiles[i].ordered && !d->coarse.fold_one_part)
            continue;
        char *name = xasprintf("%s (%s)", d->plan.profiles[i].name, d->notes->coarsened);
        free(d->plan.profiles[i].name);
        d->plan.profiles[i].name = name;
    }
}

/* ---- writing ---- */

/* By frame: its number in the file, from 1; 0 for frames of other processes only. */
static uint32_t *number_frames(const struct document *d)
{
    uint32_t count = paths_frame_count(d->paths);
    uint32_t *ret = xcalloc(count + 1, sizeof *ret);
    uint32_t n = 0;
    for (uint32_t path = 1; path <= paths_count(d->paths); path++)
        ret[paths_frame(d->paths, path)] = 1;
    for (size_t i = 0; i < d->summaries.n; i++)
        ret[d->roots[i]] = 1;
    for (uint32_t i = 1; i <= count; i++)
        ret[i] = ret[i] ? ++n : 0;
    return ret;
}

static void write_frames(struct json *j, const struct document *d)
{
    json_key(j, "shared");
    json_object(j);
    json_array_field(j, "frames");
    for (uint32_t i = 1; i <= paths_frame_count(d->paths); i++) {
        if (!d->frames[i])
            continue;
        struct path_frame f = paths_see_frame(d->paths, i);
        json_newline(j);
        json_object(j);
        json_string_field(j, "name", f.name);
        json_optional_field(j, "file", f.file);
        if (f.line)
            json_int_field(j, "line", f.line);
        json_end_object(j);
    }
    json_end_array(j);
    json_end_object(j);
}

/* Microseconds serve long captures better than nanoseconds (the page's zoom ends at 2^40 of the
 * whole).  Ends are rounded, not weights, so that a sum of weights stays exact. */
struct writing {
    struct json *j;
    const struct document *d;
    bool is_time;
    int64_t done_ns, done_us;
    int64_t *weights_us; /* of the samples written */
    size_t n, capacity;
};

static int64_t next_weight_us(struct writing *w, int64_t ns)
{
    if (!w->is_time) {
        w->done_us += ns;
        return ns;
    }
    w->done_ns += ns;
    int64_t end_us = (w->done_ns + NS_PER_US / 2) / NS_PER_US;
    int64_t weight_us = end_us - w->done_us;
    w->done_us = end_us;
    return weight_us;
}

static void write_sample(struct writing *w, uint32_t root, uint32_t path)
{
    uint32_t frames[MAX_DEPTH];
    uint32_t depth = paths_depth(w->d->paths, path);
    for (uint32_t i = depth; i-- > 0; path = paths_parent(w->d->paths, path))
        frames[i] = w->d->frames[paths_frame(w->d->paths, path)] - 1;
    json_newline(w->j);
    json_array(w->j);
    if (root)
        json_int(w->j, w->d->frames[root] - 1);
    for (uint32_t i = 0; i < depth; i++)
        json_int(w->j, frames[i]);
    json_end_array(w->j);
}

static void write_part(void *ctx, uint32_t root, const struct path_timeline *l)
{
    struct writing *w = ctx;
    for (size_t i = 0; i < l->n; i++) {
        int64_t weight_us = next_weight_us(w, l->segments[i].ns);
        if (!weight_us)
            continue;
        write_sample(w, root, l->segments[i].path);
        w->weights_us = array_reserve(w->weights_us, &w->capacity, w->n + 1, sizeof *w->weights_us);
        w->weights_us[w->n++] = weight_us;
    }
}

static void write_profile(struct json *j, const struct document *d,
                          const struct file_profile *profile)
{
    struct writing w = {.j = j, .d = d, .is_time = weight_is_time(profile->weight)};
    json_newline(j);
    json_object(j);
    json_string_field(j, "type", "sampled");
    json_string_field(j, "name", profile->name);
    json_string_field(j, "unit", w.is_time ? "microseconds" : "none");
    json_int_field(j, "startValue", 0);
    json_array_field(j, "samples");
    for_each_part(d, profile, write_part, &w);
    json_end_array(j);
    json_array_field(j, "weights");
    for (size_t i = 0; i < w.n; i++)
        json_int(j, w.weights_us[i]);
    json_end_array(j);
    json_int_field(j, "endValue", w.done_us);
    json_end_object(j);
    free(w.weights_us);
}

/* The main thread's profile, the first of a single process, shows nothing if that only waits for
 * others. */
static int64_t opening_profile(const struct document *d)
{
    size_t i = 0;
    while (!d->plan.n_active && i < d->plan.n && d->plan.profiles[i].weight != WEIGHT_OFF_CPU)
        i++;
    if (!d->plan.n_active) /* "ALL active" is empty */
        return (int64_t)i;
    if (d->plan.several)
        return 0;
    while (i < d->plan.n_active &&
           path_timeline_is_one_wait(d->paths, d->summaries.threads[i].thread))
        i++;
    return i > 0 && i < d->plan.n_active;
}

static void write_document(struct json *j, const struct document *d)
{
    json_object(j);
    json_string_field(j, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_string_field(j, "exporter", "wallspy@" WALLSPY_VERSION);
    if (d->summaries.n) {
        process_id process = d->summaries.threads[0].thread->process;
        json_string_field(j, "name",
                          profile_text(d->p, profile_see_process(d->p, process)->command));
    }
    json_int_field(j, "activeProfileIndex", opening_profile(d));
    json_newline(j);
    json_key(j, "wallspy");
    wallspy_block_write(j, d->p, &d->summaries, d->view, d->findings, d->notes);
    json_newline(j);
    write_frames(j, d);
    json_newline(j);
    json_array_field(j, "profiles");
    for (size_t i = 0; i < d->plan.n; i++)
        write_profile(j, d, &d->plan.profiles[i]);
    json_end_array(j);
    json_end_object(j);
}

int speedscope_write(const struct profile *p, struct view *v,
                     const struct export_findings *findings, uint64_t max_bytes, FILE *out,
                     struct export_notes *ret_notes)
{
    struct document d = {.p = p,
                         .view = v,
                         .findings = findings,
                         .max_bytes = max_bytes,
                         .notes = ret_notes,
                         .paths = paths_new(p, v, MAX_DEPTH)};
    thread_summaries_init(&d.summaries, p, v);
    profile_plan_init(&d.plan, p, &d.summaries, view_options(v)->weights);
    add_roots(&d);
    coarsen(&d);
    add_notes(&d);
    d.frames = number_frames(&d);
    struct json j = {.out = out};
    write_document(&j, &d);
    profile_plan_release(&d.plan);
    free(d.roots);
    free(d.frames);
    thread_summaries_release(&d.summaries);
    paths_free(d.paths);
    return json_finish(&j);
}
