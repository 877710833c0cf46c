#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "cli/speedscope_reading.h"
#include "profile/metric_info.h"

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

static bool take_metric(struct reading *r, struct slice key)
{
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++) {
        if (!slice_is(key, metric_info(m)->key))
            continue;
        double value = number_value(r);
        profile_set_number(r->p, m, metric_may_be(m, value) ? value : 0);
        return true;
    }
    return false;
}

static bool take_text(struct reading *r, struct slice key)
{
    static const char *const keys[] = {
        "started",    "host",      "kernel",    "threads_asked",  "priority",
        "self_check", "cpu_check", "coarsened", "priority_apart", "naming_failed"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!slice_is(key, keys[i]))
            continue;
        struct text tame = {0};
        const char *value = profile_text(r->p, reading_text(r));
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
            process.pid = (pid_t)min_i64(reading_count(r), INT32_MAX);
        else if (slice_is(key, "comm"))
            process.comm = reading_text(r);
        else if (slice_is(key, "command"))
            process.command = reading_text(r);
        else if (slice_is(key, "title"))
            process.title = reading_text(r);
        else if (slice_is(key, "environment"))
            process.environment = reading_text(r);
        else if (slice_is(key, "python"))
            process.python_version = reading_text(r);
        else
            json_in_skip(&r->j);
    }
    (void)profile_process(r->p, &process);
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
        int64_t value = reading_count(r);
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
        w->pid = reading_count(r);
    else if (slice_is(key, "tid"))
        w->tid = reading_count(r);
    else if (slice_is(key, "threads"))
        t->n_folded = (uint32_t)min_i64(reading_count(r), UINT32_MAX);
    else if (slice_is(key, "name"))
        t->name = reading_text(r);
    else if (slice_is(key, "label"))
        w->label = reading_text(r);
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
    if (w.pid == (pid_t)w.pid)
        t.process = profile_find_process(r->p, (pid_t)w.pid);
    if (!t.process.ix || t.end_ns < t.start_ns) {
        (void)reading_fail(r, "damaged: a thread is of no process, or of no time");
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

static const char *text_or_null(struct reading *r)
{
    return profile_text_or_null(r->p, reading_text(r));
}

static void read_finding(struct reading *r)
{
    struct speedscope *s = r->ret;
    struct finding f = {.kind = FINDING_EXPLAINS, .level = LEVEL_EXPLAINS};
    struct slice key;
    char words[JSON_IN_TEXT_BYTES] = "";
    if (!json_in_object(&r->j))
        return;
    while (json_in_key(&r->j, &key)) {
        if (slice_is(key, "rule"))
            f.rule = text_or_null(r);
        else if (slice_is(key, "about"))
            f.about = text_or_null(r);
        else if (slice_is(key, "words"))
            (void)json_in_text(&r->j, words, sizeof words);
        else
            json_in_skip(&r->j);
    }
    if (!*words || !f.rule || s->findings.n == MAX_FINDINGS)
        return;
    struct text tame = {0};
    text_add_tame(&tame, words, strlen(words));
    f.words = tame.s;
    s->items[s->findings.n++] = f;
}

void reading_block(struct reading *r)
{
    struct slice key;
    if (!json_in_object(&r->j))
        return;
    while (reading_goes_on(r) && json_in_key(&r->j, &key)) {
        if (slice_is(key, "processes"))
            reading_array(r, MOST_ROWS, read_process);
        else if (slice_is(key, "threads"))
            reading_array(r, MOST_ROWS, read_thread);
        else if (slice_is(key, "findings"))
            reading_array(r, MAX_FINDINGS, read_finding);
        else if (!(is_number_next(r) && take_metric(r, key)) &&
                 !(json_in_peek(&r->j) == '"' && take_text(r, key)))
            json_in_skip(&r->j);
    }
}
