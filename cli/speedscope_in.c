#include "cli/speedscope_in.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "cli/shown_words.h"
#include "cli/units.h"
#include "fleet/json_in.h"
#include "profile/kept.h"
#include "profile/metric_info.h"

enum {
    MOST_FRAMES = 1 << 20,
    MOST_SAMPLES = 1 << 22, /* of one profile */
    MOST_DEPTH = 1 << 12,   /* a file has a thousand */
    MOST_ROWS = 1 << 16,    /* processes, threads */
    NAME_BYTES = SHOWN_WORDS_BYTES,
};
static const int64_t most_ns = INT64_C(1) << 58; /* nine years */
static const char wall[] = " | wall";

/* A frame of the file: of the profile, or the words of a wait. */
struct frame_row {
    frame_id frame;
    string_id name;
    bool waits;
};
struct thread_row {
    thread_id id;
    string_id label, group; /* GROUP: without tid, numbers as '*' */
    bool idle;
};
struct reading {
    struct json_in j;
    struct speedscope *ret;
    struct profile *p;
    const char *wrong; /* NULL: nothing so far */
    bool ours;         /* wallspy wrote it */
    int64_t end_ns;
    struct frame_row *frames;
    size_t n_frames, frames_capacity;
    struct thread_row *threads;
    size_t n_threads, threads_capacity;
    /* Of the present profile, by sample. */
    struct sample {
        struct spot at;
        enum run_state state;
    } * samples;
    size_t n_samples, samples_capacity;
};

static bool fail(struct reading *r, const char *wrong)
{
    r->wrong = r->wrong ? r->wrong : wrong;
    return false;
}

/* Is there more to read? */
static bool goes_on(const struct reading *r)
{
    return !r->wrong && !r->j.wrong;
}

static string_id text_value(struct reading *r)
{
    char text[NAME_BYTES];
    return json_in_text(&r->j, text, sizeof text) ? profile_string(r->p, text) : (string_id){0};
}

/* A whole number from 0 to what nine years have; 0: it is another value. */
static int64_t count_value(struct reading *r)
{
    int64_t n = 0;
    if (!json_in_int(&r->j, &n))
        return 0;
    return n < 0 ? 0 : min_i64(n, most_ns);
}

static double number_value(struct reading *r)
{
    char text[64] = "";
    struct slice slice = {0};
    if (json_in_value(&r->j, &slice) != JSON_IN_NUMBER || slice.len >= sizeof text)
        return 0;
    memcpy(text, slice.s, slice.len);
    double value = strtod(text, NULL);
    return isfinite(value) ? value : 0;
}

static bool bool_value(struct reading *r)
{
    bool value = false;
    return json_in_bool(&r->j, &value) && value;
}

static bool is_number_next(struct reading *r)
{
    int c = json_in_peek(&r->j);
    return c == '-' || (c >= '0' && c <= '9');
}

/* ---- the "wallspy" block ---- */

static bool take_metric(struct reading *r, struct slice key)
{
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++) {
        if (!slice_is(key, metric_info(m)->key))
            continue;
        profile_set_number(r->p, m, number_value(r));
        return true;
    }
    return false;
}

static bool take_text(struct reading *r, struct slice key)
{
    static const char *const keys[] = {"started",       "host",      "kernel",
                                       "threads_asked", "priority",  "self_check",
                                       "cpu_check",     "coarsened", "priority_apart"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!slice_is(key, keys[i]))
            continue;
        struct text tame = {0};
        const char *value = profile_text(r->p, text_value(r));
        text_add_tame(&tame, value, strlen(value)); /* it is printed as it is */
        profile_set_text(r->p, keys[i], tame.s ? tame.s : "");
        text_release(&tame);
        return true;
    }
    return false;
}

static void read_process(struct reading *r)
{
    struct profile_process process = {.pid = 0};
    struct slice key;
    if (!json_in_object(&r->j))
        return;
    while (json_in_key(&r->j, &key)) {
        if (slice_is(key, "pid"))
            process.pid = (pid_t)min_i64(count_value(r), INT32_MAX);
        else if (slice_is(key, "comm"))
            process.comm = text_value(r);
        else if (slice_is(key, "command"))
            process.command = text_value(r);
        else if (slice_is(key, "title"))
            process.title = text_value(r);
        else if (slice_is(key, "environment"))
            process.environment = text_value(r);
        else if (slice_is(key, "python"))
            process.python_version = text_value(r);
        else
            json_in_skip(&r->j);
    }
    (void)profile_process(r->p, &process);
}

static process_id process_of(const struct reading *r, int64_t pid)
{
    for (uint32_t i = 1; i <= profile_process_count(r->p); i++)
        if (profile_see_process(r->p, (process_id){i})->pid == pid)
            return (process_id){i};
    return (process_id){0};
}

/* The number of THREAD that KEY says, as its kind. */
static bool take_thread_number(struct reading *r, struct profile_thread *t, struct slice key)
{
    const struct {
        const char *key;
        int64_t *ns;
        uint64_t *count;
    } numbers[] = {
        {"start_ns", &t->start_ns, NULL},
        {"end_ns", &t->end_ns, NULL},
        {"run_ns", &t->counts.ns[COUNTED_CPU], NULL},
        {"wait_cpu_ns", &t->counts.ns[COUNTED_RUNQUEUE], NULL},
        {"blocked_ns", &t->counts.ns[COUNTED_OFF_CPU], NULL},
        {"usage_over_ns", &t->usage.over_ns, NULL},
        {"user_ns", &t->usage.user_ns, NULL},
        {"system_ns", &t->usage.system_ns, NULL},
        {"minor_faults", NULL, &t->usage.minor_faults},
        {"major_faults", NULL, &t->usage.major_faults},
        {"voluntary_switches", NULL, &t->usage.voluntary},
        {"involuntary_switches", NULL, &t->usage.involuntary},
        {"own_switches", NULL, &t->own_switches},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!slice_is(key, numbers[i].key))
            continue;
        int64_t value = count_value(r);
        if (numbers[i].ns)
            *numbers[i].ns = value;
        else
            *numbers[i].count = (uint64_t)value;
        return true;
    }
    return false;
}

/* What a thread's object says beside the profile's fields. */
struct thread_words {
    int64_t pid, tid;
    string_id label;
    bool idle;
};

static void take_thread_field(struct reading *r, struct profile_thread *t, struct thread_words *w,
                              struct slice key)
{
    if (slice_is(key, "pid"))
        w->pid = count_value(r);
    else if (slice_is(key, "tid"))
        w->tid = count_value(r);
    else if (slice_is(key, "threads"))
        t->n_folded = (uint32_t)min_i64(count_value(r), UINT32_MAX);
    else if (slice_is(key, "name"))
        t->name = text_value(r);
    else if (slice_is(key, "label"))
        w->label = text_value(r);
    else if (slice_is(key, "main"))
        t->main = bool_value(r);
    else if (slice_is(key, "python"))
        t->python = bool_value(r);
    else if (slice_is(key, "ended"))
        t->ended = bool_value(r);
    else if (slice_is(key, "idle"))
        w->idle = bool_value(r);
    else if (!take_thread_number(r, t, key))
        json_in_skip(&r->j);
}

/* "worker-*" of "worker-7 4711" */
static string_id group_of(struct reading *r, string_id label)
{
    struct text bare = {0};
    struct text group = {0};
    const char *s = profile_text(r->p, label);
    const char *tid = strrchr(s, ' ');
    text_add_bytes(&bare, s, tid ? (size_t)(tid - s) : strlen(s));
    text_add_group(&group, bare.len ? bare.s : "");
    string_id ret = profile_string(r->p, group.len ? group.s : "");
    text_release(&bare);
    text_release(&group);
    return ret;
}

static void read_thread(struct reading *r)
{
    struct profile_thread t = {.tid = 0};
    struct thread_words w = {0};
    struct slice key;
    if (!json_in_object(&r->j))
        return;
    while (json_in_key(&r->j, &key))
        take_thread_field(r, &t, &w, key);
    t.process = process_of(r, w.pid);
    if (!t.process.ix || t.end_ns < t.start_ns) {
        (void)fail(r, "damaged: a thread is of no process, or of no time");
        return;
    }
    t.tid = (pid_t)min_i64(w.tid, INT32_MAX);
    t.closed = true; /* the end is its own */
    t.lived_ns = t.n_folded ? t.end_ns - t.start_ns : 0;
    r->end_ns = max_i64(r->end_ns, t.end_ns);
    thread_id id = profile_thread(r->p, t.process, t.tid, t.name, t.start_ns);
    *profile_get_thread(r->p, id) = t;
    r->threads =
        array_reserve(r->threads, &r->threads_capacity, r->n_threads + 1, sizeof *r->threads);
    r->threads[r->n_threads++] = (struct thread_row){
        .id = id, .label = w.label, .group = group_of(r, w.label), .idle = w.idle};
}

static void read_finding(struct reading *r)
{
    struct speedscope *s = r->ret;
    struct finding f = {.kind = FINDING_EXPLAINS, .level = LEVEL_EXPLAINS};
    struct slice key;
    char text[JSON_IN_TEXT_BYTES];
    if (!json_in_object(&r->j))
        return;
    while (json_in_key(&r->j, &key)) {
        if (slice_is(key, "rule"))
            f.rule = profile_text(r->p, text_value(r));
        else if (slice_is(key, "about"))
            f.about = profile_text(r->p, text_value(r));
        else if (slice_is(key, "words") && !f.words && json_in_text(&r->j, text, sizeof text))
            f.words = xstrdup(text);
        else
            json_in_skip(&r->j);
    }
    if (!f.words || !f.rule || s->findings.n == MAX_FINDINGS) {
        free(f.words);
        return;
    }
    struct text tame = {0};
    text_add_tame(&tame, f.words, strlen(f.words));
    free(f.words);
    f.words = tame.s;
    s->items[s->findings.n++] = f;
}

/* Reads the array that comes next, with EACH item. */
static void read_array(struct reading *r, size_t most, void (*each)(struct reading *r))
{
    if (!json_in_array(&r->j))
        return;
    for (size_t n = 0; json_in_item(&r->j); n++) {
        if (n == most || r->wrong)
            json_in_skip(&r->j);
        else
            each(r);
    }
}

static void read_block(struct reading *r)
{
    struct slice key;
    if (!json_in_object(&r->j))
        return;
    while (goes_on(r) && json_in_key(&r->j, &key)) {
        if (slice_is(key, "processes"))
            read_array(r, MOST_ROWS, read_process);
        else if (slice_is(key, "threads"))
            read_array(r, MOST_ROWS, read_thread);
        else if (slice_is(key, "findings"))
            read_array(r, MAX_FINDINGS, read_finding);
        else if (!(is_number_next(r) && take_metric(r, key)) &&
                 !(json_in_peek(&r->j) == '"' && take_text(r, key)))
            json_in_skip(&r->j);
    }
}

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
            w.name = text_value(r);
        else if (slice_is(key, "file"))
            (void)json_in_text(&r->j, w.file, sizeof w.file);
        else if (slice_is(key, "line"))
            w.line = (uint32_t)min_i64(count_value(r), INT32_MAX);
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
    while (goes_on(r) && json_in_key(&r->j, &key)) {
        if (slice_is(key, "frames"))
            read_array(r, MOST_FRAMES, read_frame);
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
            (void)fail(r, "damaged: a stack has a frame that there is not");
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
            (void)fail(r, "damaged: a thread has more samples than wallspy writes");
            continue;
        }
        r->samples =
            array_reserve(r->samples, &r->samples_capacity, r->n_samples + 1, sizeof *r->samples);
        r->samples[r->n_samples++] = s;
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
            weight > (most_ns - done_ns) / NS_PER_US) {
            (void)fail(r, "damaged: a weight is none");
            continue;
        }
        int64_t ns = weight * NS_PER_US;
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

/* Is the thread ROW one of the first LEN bytes of GROUP: "omp worker 4711", "worker-*", "others"? */
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
    while (goes_on(r) && json_in_key(&r->j, &key)) {
        if (slice_is(key, "name") && json_in_text(&r->j, name, sizeof name)) {
            id = thread_called(r, name);
            idle = idle_group(name);
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
        (void)fail(r, "no speedscope file");
        return;
    }
    while (goes_on(r) && json_in_key(&r->j, &key)) {
        if (slice_is(key, "exporter") && json_in_text(&r->j, text, sizeof text))
            r->ours = str_starts(text, "wallspy@");
        else if (!r->ours)
            json_in_skip(&r->j);
        else if (slice_is(key, "wallspy"))
            read_block(r);
        else if (slice_is(key, "shared"))
            read_shared(r);
        else if (slice_is(key, "profiles"))
            read_array(r, MOST_ROWS, read_profile);
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
    if (source->error)
        return strerror(-source->error);
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
