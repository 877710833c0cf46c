#include "cli/speedscope_in.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "cli/speedscope_reading.h"
#include "cli/units.h"
#include "profile/kept.h"
#include "profile/metric_info.h"

static const char wall[] = " | wall";

/* ---- frames ---- */

static void add_frame(struct reading *r, const struct shown_words *w)
{
    struct frame_row row = {.name = w->name, .waits = shown_words_wait(w)};
    if (!row.waits)
        row.frame = shown_words_frame(r->p, w, r->n_frames);
    r->frames = array_reserve(r->frames, &r->frames_capacity, r->n_frames + 1, sizeof *r->frames);
    r->frames[r->n_frames++] = row;
}

static void read_frame(struct reading *r)
{
    struct shown_words w = {.line = 0};
    struct slice key;
    if (!json_in_object(&r->j))
        return;
    while (json_in_key(&r->j, &key)) {
        if (slice_is(key, "name"))
            w.name = reading_text(r);
        else if (slice_is(key, "file"))
            (void)json_in_text(&r->j, w.file, sizeof w.file);
        else if (slice_is(key, "line"))
            w.line = (uint32_t)min_i64(reading_count(r), INT32_MAX);
        else
            json_in_skip(&r->j);
    }
    add_frame(r, &w);
}

static void read_shared(struct reading *r)
{
    struct slice key;
    if (!json_in_object(&r->j))
        return;
    while (reading_goes_on(r) && json_in_key(&r->j, &key)) {
        if (slice_is(key, "frames"))
            reading_array(r, MOST_FRAMES, read_frame);
        else
            json_in_skip(&r->j);
    }
}

/* ---- profiles ---- */

static void add_wait(struct reading *r, const char *words, const char *path, struct sample *s)
{
    const struct wait wait = shown_words_as_wait(r->p, words, path);
    s->state = wait.kind == WAIT_CPU       ? RUN_RUNNABLE
               : wait.kind == WAIT_STOPPED ? RUN_STOPPED
                                           : RUN_BLOCKED;
    s->at.wait = profile_wait(r->p, &wait);
}

/* A stack: numbers of frames, outermost first, and at its end those of a wait. */
static struct sample read_stack(struct reading *r)
{
    struct sample s = {.state = RUN_MISSED};
    const char *words = NULL;
    const char *path = NULL;
    if (!json_in_array(&r->j))
        return s;
    for (size_t depth = 0; json_in_item(&r->j); depth++) {
        int64_t number = -1;
        if (!json_in_int(&r->j, &number) || number < 0 || (size_t)number >= r->n_frames ||
            depth >= MOST_DEPTH) {
            (void)reading_fail(r, "damaged: a stack has a frame that there is not");
            continue;
        }
        const struct frame_row *row = &r->frames[number];
        s.state = s.state == RUN_MISSED ? RUN_RUNNING : s.state;
        if (!row->waits)
            s.at.stack = profile_push(r->p, s.at.stack, row->frame);
        else if (!words)
            words = profile_text(r->p, row->name);
        else
            path = profile_text(r->p, row->name);
    }
    if (words)
        add_wait(r, words, path, &s);
    return s;
}

static void read_samples(struct reading *r)
{
    r->n_samples = 0;
    if (!json_in_array(&r->j))
        return;
    while (json_in_item(&r->j)) {
        struct sample s = read_stack(r);
        if (r->n_samples == MOST_SAMPLES) {
            (void)reading_fail(r, "damaged: a thread has more samples than wallspy writes");
            continue;
        }
        r->samples =
            array_reserve(r->samples, &r->samples_capacity, r->n_samples + 1, sizeof *r->samples);
        r->samples[r->n_samples++] = s;
        byte_source_bears(r->j.source);
    }
}

static uint64_t samples_in(const struct reading *r, int64_t ns)
{
    double rate_hz = profile_number(r->p, METRIC_RATE_HZ);
    double n = rate_hz > 0 && rate_hz <= 10000 ? (double)ns / NS_PER_S * rate_hz : 1;
    return n < 1 ? 1 : (uint64_t)(n + 0.5);
}

/* The part of a sample that lies within the thread's life. */
static void add_run(struct reading *r, thread_id id, const struct sample *s, int64_t start_ns,
                    int64_t end_ns)
{
    const struct profile_thread *t = profile_see_thread(r->p, id);
    if (s->state == RUN_MISSED) { /* before its life, and after it, too */
        start_ns = max_i64(start_ns, t->start_ns);
        end_ns = min_i64(end_ns, t->end_ns);
    }
    if (end_ns <= start_ns)
        return;
    profile_append_run(r->p, id,
                       &(struct run){.at = s->at,
                                     .state = s->state,
                                     .samples = samples_in(r, end_ns - start_ns),
                                     .start_ns = start_ns,
                                     .weights.wall_ns = end_ns - start_ns});
}

/* Of the present profile's samples the one with the next weight, in microseconds; ID: whose it is;
 * none: an aggregated profile, of which *BEST gets the heaviest. */
static void read_weights(struct reading *r, thread_id id, struct sample *best)
{
    int64_t done_ns = 0;
    int64_t most = 0;
    if (!json_in_array(&r->j))
        return;
    for (size_t i = 0; json_in_item(&r->j); i++) {
        int64_t weight = 0;
        if (!json_in_int(&r->j, &weight) || weight < 0 || i >= r->n_samples ||
            weight > (reading_most_ns - done_ns) / NS_PER_US) {
            (void)reading_fail(r, "damaged: a weight is none");
            continue;
        }
        int64_t ns = weight * NS_PER_US;
        byte_source_bears(r->j.source);
        if (id.ix)
            add_run(r, id, &r->samples[i], done_ns, done_ns + ns);
        if (weight > most) {
            most = weight;
            *best = r->samples[i];
        }
        done_ns += ns;
    }
    if (id.ix)
        r->end_ns = max_i64(r->end_ns, done_ns);
}

/* Is NAME "LABEL | wall", or with a note behind it? */
static bool is_profile_of(const char *name, const char *label)
{
    size_t len = strlen(label);
    return strncmp(name, label, len) == 0 && str_starts(name + len, wall);
}

static thread_id thread_called(const struct reading *r, const char *name)
{
    for (size_t i = 0; i < r->n_threads; i++)
        if (is_profile_of(name, profile_text(r->p, r->threads[i].label)) &&
            !profile_see_thread(r->p, r->threads[i].id)->n_runs)
            return r->threads[i].id;
    return (thread_id){0};
}

/* The group in "60 idle: omp worker"; NULL: it is no such profile. */
static const char *idle_group(const char *name)
{
    static const char idle[] = " idle: ";
    const char *at = strstr(name, idle);
    return at && strspn(name, "0123456789") == (size_t)(at - name) ? at + strlen(idle) : NULL;
}

/* Is the thread ROW one of the first LEN bytes of GROUP: "worker 4711", "worker-*", "others"? */
static bool is_of(const struct reading *r, const struct thread_row *row, const char *group,
                  size_t len)
{
    char *name = xasprintf("%.*s", (int)len, group);
    char *behind_process = xasprintf(" %s", name);
    const char *whole = profile_text(r->p, row->group);
    bool is = str_eq(name, "others") || str_eq(name, profile_text(r->p, row->label)) ||
              str_eq(name, whole) || str_ends(whole, behind_process);
    free(behind_process);
    free(name);
    return is;
}

/* The same; GROUP may have a note behind it, as "(coarsened …)". */
static bool is_of_group(const struct reading *r, const struct thread_row *row, const char *group)
{
    const char *note = strrchr(group, '(');
    return is_of(r, row, group, strlen(group)) ||
           (note && note > group && is_of(r, row, group, (size_t)(note - group) - 1));
}

/* Gives each idle thread of GROUP, which has no profile of its own, the stack AT. */
static void add_idle(struct reading *r, const char *group, const struct sample *at)
{
    for (size_t i = 0; i < r->n_threads; i++) {
        const struct thread_row *row = &r->threads[i];
        const struct profile_thread *t = profile_see_thread(r->p, row->id);
        if (row->idle && !t->n_runs && is_of_group(r, row, group))
            add_run(r, row->id, at, t->start_ns, t->end_ns);
    }
}

static void read_profile(struct reading *r)
{
    char name[NAME_BYTES] = "";
    const char *idle = NULL;
    struct sample best = {.state = RUN_MISSED};
    thread_id id = {0};
    struct slice key;
    if (!json_in_object(&r->j))
        return;
    while (reading_goes_on(r) && json_in_key(&r->j, &key)) {
        if (slice_is(key, "name")) {
            bool named = json_in_text(&r->j, name, sizeof name);
            id = named ? thread_called(r, name) : (thread_id){0};
            idle = named ? idle_group(name) : NULL;
        } else if (slice_is(key, "samples") && (id.ix || idle)) {
            read_samples(r);
        } else if (slice_is(key, "weights") && (id.ix || idle)) {
            read_weights(r, id, &best);
        } else {
            json_in_skip(&r->j);
        }
    }
    if (idle && !id.ix)
        add_idle(r, idle, &best);
}

/* ---- the whole ---- */

static void read_document(struct reading *r)
{
    char text[NAME_BYTES];
    struct slice key;
    if (json_in_value(&r->j, NULL) != JSON_IN_OBJECT) {
        (void)reading_fail(r, "no speedscope file");
        return;
    }
    while (reading_goes_on(r) && json_in_key(&r->j, &key)) {
        if (slice_is(key, "exporter"))
            r->ours = json_in_text(&r->j, text, sizeof text) && str_starts(text, "wallspy@");
        else if (r->ours && slice_is(key, "wallspy"))
            reading_block(r);
        else if (r->ours && slice_is(key, "shared"))
            read_shared(r);
        else if (r->ours && slice_is(key, "profiles"))
            reading_array(r, MOST_PROFILES, read_profile);
        else
            json_in_skip(&r->j);
    }
}

static void set_origin(const struct reading *r)
{
    struct moment started;
    if (parse_moment(profile_metadata_text(r->p, "started"), &started) == 0 &&
        started.kind == MOMENT_UTC)
        profile_set_origin(r->p, &(struct profile_origin){.utc_ns = started.ns});
}

/* profile_end() sets some numbers, which the file has. */
static void end_profile(const struct reading *r)
{
    static const enum metric derived[] = {METRIC_TIME_STEP_S, METRIC_THREADS_FOLDED,
                                          METRIC_THREADS_WITHOUT_A_SAMPLE};
    enum { N = sizeof derived / sizeof *derived };
    double kept[N];
    for (size_t i = 0; i < N; i++)
        kept[i] = profile_number(r->p, derived[i]);
    profile_end(r->p, r->end_ns);
    for (size_t i = 0; i < N; i++)
        profile_set_number(r->p, derived[i], kept[i]);
}

static const char *what_is_wrong(const struct reading *r, const struct byte_source *source)
{
    if (r->wrong)
        return r->wrong;
    if (source->wrong)
        return source->wrong;
    if (r->j.wrong)
        return "damaged, or cut short";
    if (!r->ours)
        return "a speedscope file that wallspy did not write";
    return r->n_threads ? NULL : "a speedscope file without a thread";
}

static int read_source(struct speedscope *ret, struct byte_source *source, const char *name,
                       struct err *err)
{
    struct reading *r = xcalloc(1, sizeof *r);
    *ret = (struct speedscope){.p = profile_new(0)};
    *r = (struct reading){.j.source = source, .ret = ret, .p = ret->p};
    read_document(r);
    const char *wrong = what_is_wrong(r, source);
    set_origin(r);
    end_profile(r);
    free(r->frames);
    free(r->threads);
    free(r->samples);
    free(r);
    ret->findings.items = ret->items;
    for (size_t i = 0; i < ret->findings.n; i++)
        ret->findings.printed[ret->findings.n_printed++] = &ret->items[i];
    if (!wrong)
        return 0;
    speedscope_release(ret);
    return err_set(err, -EINVAL, "%s: %s", name, wrong);
}

int speedscope_read_bytes(struct speedscope *ret, const char *s, size_t len, const char *name,
                          struct err *err)
{
    struct byte_source source;
    byte_source_of_bytes(&source, s, len);
    return read_source(ret, &source, name, err);
}

int speedscope_read(struct speedscope *ret, const char *path, struct err *err)
{
    struct byte_source source;
    int r = byte_source_open(&source, path);
    if (r < 0)
        return err_set(err, r, "cannot read %s: %s", path, strerror(-r));
    r = read_source(ret, &source, path, err);
    byte_source_close(&source);
    return r;
}

bool speedscope_is(const char *path)
{
    enum { BEGINNING = 512 };
    static const char schema[] = "speedscope.app/file-format-schema.json";
    struct byte_source source;
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || byte_source_open(&source, path) < 0)
        return false;
    size_t len = byte_source_ahead(&source, BEGINNING);
    len = len < BEGINNING ? len : BEGINNING;
    bool is = len && *source.at == '{' && memmem(source.at, len, schema, strlen(schema));
    byte_source_close(&source);
    return is;
}

void speedscope_release(struct speedscope *s)
{
    for (size_t i = 0; i < s->findings.n; i++)
        free(s->items[i].words);
    profile_free(s->p);
    *s = (struct speedscope){0};
}
