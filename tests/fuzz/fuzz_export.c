/* Whatever things are called: no output breaks, and a terminal finds nothing to obey in any. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/answer.h"
#include "cli/dump_forms.h"
#include "cli/dump_label.h"
#include "dump/thread.h"
#include "exporter/exporter.h"
#include "recording/recording_file.h"
#include "tests/fuzz/check_json.h"
#include "tests/fuzz/check_xml.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/findings_json.h"

enum { MAX_STRINGS = 16, MAX_FRAMES = 40, MAX_THREADS = 12, MAX_RUNS = 30, FEW_COLUMNS = 60 };

struct output {
    char *s;
    size_t len;
    FILE *file;
};

struct judgement {
    struct profile *p;
    string_id strings[MAX_STRINGS];
    frame_id frames[MAX_FRAMES];
    size_t n_frames;
    struct dump_thread threads[MAX_THREADS];
    size_t n_threads;
};

static string_id any_string(const struct judgement *s, struct feed *f)
{
    return s->strings[feed_u8(f) % MAX_STRINGS];
}

static void add_frame(struct judgement *s, struct feed *f)
{
    uint8_t how = feed_u8(f);
    struct frame frame = {.kind = (enum frame_kind)(1 + how % 3), .flags = how >> 4 & 3};
    struct location location = {.line = feed_u8(f), .inlined = how & 4, .internal = how & 64};
    location.function = any_string(s, f);
    location.file = any_string(s, f);
    if (frame.kind == FRAME_NATIVE) {
        struct profile_module m = {any_string(s, f), any_string(s, f), {0}, 0, 0};
        frame.native.module = how & 8 ? profile_module(s->p, &m) : (module_id){0};
        frame.native.offset = feed_u16(f);
    } else if (frame.kind == FRAME_PYTHON) {
        struct func func = {location.function, location.file, feed_u8(f)};
        frame.python.func = profile_func(s->p, &func);
        frame.python.line = location.line;
    } else {
        frame.mark.name = location.function;
        frame.mark.file = location.file;
    }
    frame_id id = profile_frame(s->p, &frame);
    if (frame.kind == FRAME_NATIVE && how & 128)
        profile_locate(s->p, id, &location, 1);
    s->frames[s->n_frames++] = id;
}

static stack_id any_stack(const struct judgement *s, struct feed *f)
{
    stack_id stack = {0};
    for (uint8_t n = feed_u8(f) % 8; n && s->n_frames; n--)
        stack = profile_push(s->p, stack, s->frames[feed_u8(f) % s->n_frames]);
    return stack;
}

static void add_thread(struct judgement *s, process_id process, struct feed *f)
{
    struct dump_thread *d = &s->threads[s->n_threads];
    thread_id t = profile_thread(s->p, process, (pid_t)s->n_threads + 1, any_string(s, f), 0);
    profile_get_thread(s->p, t)->main = s->n_threads == 0;
    int64_t at = 0;
    for (uint8_t n = 1 + feed_u8(f) % MAX_RUNS; n; n--) {
        struct run run = {.at.stack = any_stack(s, f), .samples = 1, .start_ns = at};
        run.weights.wall_ns = NS_PER_MS * (1 + feed_u8(f));
        run.state = run.at.stack.ix ? 1 + feed_u8(f) % RUN_RUNNING_OR_RUNNABLE : RUN_MISSED;
        profile_get_thread(s->p, t)->counts.ns[feed_u8(f) % COUNTED_KINDS] += feed_u8(f);
        profile_add_run(s->p, t, &run);
        d->at = run.at;
        at += run.weights.wall_ns;
    }
    d->thread = t;
    d->tid = (pid_t)++s->n_threads;
    d->sampled = d->at.stack.ix;
    d->state = THREAD_BLOCKED;
    d->syscall = feed_u8(f);
    d->gil.gil = feed_u8(f) % (PY_GIL_ABSENT + 1);
    d->gil.holder = d->gil.gil == PY_GIL_WAITING ? 1 : 0;
    d->python_threads[0] = feed_u8(f) & 1;
    d->object = feed_string(f);
    (void)snprintf(d->wchan, sizeof d->wchan, "%s", d->object);
}

/* What the kernel says of a process has names that others chose. */
static void add_evidence(struct judgement *s, process_id id, struct feed *f)
{
    struct profile_child child = {.pid = 2, .comm = any_string(s, f)};
    struct profile_mount mount = {.point = any_string(s, f), .source = any_string(s, f)};
    profile_set_children(s->p, id, &child, 1);
    struct profile_process *process = profile_get_process(s->p, id);
    process->children_known = true;
    process->cpu_limits = (struct profile_cpu_limits){
        .known = true, .quota_cpus = 0.5, .quota_path = any_string(s, f), .policy = feed_u8(f)};
    process->usage.over_ns = 1;
    *profile_get_host(s->p) =
        (struct profile_host){.over_ns = 1,
                              .busiest = {.pid = 1, .comm = any_string(s, f)},
                              .machine = {.known = true, .governor = any_string(s, f)}};
    (void)profile_mount(s->p, &mount);
}

static void fill(struct judgement *s, struct feed *f)
{
    s->p = profile_new(0);
    for (size_t i = 0; i < MAX_STRINGS; i++) {
        char *text = feed_string(f);
        s->strings[i] = profile_string(s->p, text);
        free(text);
    }
    struct profile_process process = {.command = any_string(s, f), .comm = any_string(s, f)};
    process.python_version = any_string(s, f);
    process_id id = profile_process(s->p, &process);
    profile_set_text(s->p, "environment", profile_text(s->p, any_string(s, f)));
    for (uint8_t n = feed_u8(f) % MAX_FRAMES; n; n--)
        add_frame(s, f);
    for (uint8_t n = 1 + feed_u8(f) % (MAX_THREADS - 1); n; n--)
        add_thread(s, id, f);
    add_evidence(s, id, f);
    profile_end(s->p, INT64_C(8) * NS_PER_S);
}

static void begin(struct output *o)
{
    *o = (struct output){0};
    o->file = open_memstream(&o->s, &o->len);
    FUZZ_CHECK(o->file);
}

static void check_text(const char *s, size_t len, bool lines_end_in_number)
{
    FUZZ_CHECK(is_plain_text(s, len) && (!len || s[len - 1] == '\n'));
    for (const char *at = s, *newline; at < s + len; at = newline + 1) {
        newline = memchr(at, '\n', (size_t)(s + len - at));
        FUZZ_CHECK(!lines_end_in_number ||
                   (newline - at > 2 && newline[-1] >= '0' && newline[-1] <= '9'));
    }
}

static void check_recording(const char *bytes, size_t len)
{
    struct err err = {0};
    struct profile *p = recording_bytes_read(bytes, len, "x", &err);
    FUZZ_CHECK(p);
    profile_free(p);
}

static void check_export(struct judgement *s, const char *format, const struct view_options *view)
{
    struct output o;
    struct export_notes notes;
    char *findings = findings_json(s->p, view);
    const struct export_findings known = {.json = findings};
    begin(&o);
    FUZZ_CHECK(exporter_write(exporter_by_name(format), s->p, view, &known, 0, o.file, &notes) ==
               0);
    (void)fclose(o.file);
    free(findings);
    if (str_eq(format, "folded"))
        check_text(o.s, o.len, true);
    else if (str_eq(format, "flamegraph"))
        FUZZ_CHECK(is_xml(o.s, o.len));
    else if (str_eq(format, "wallspy"))
        check_recording(o.s, o.len);
    else if (!str_eq(format, "pprof"))
        FUZZ_CHECK(is_json(o.s, o.len));
    free(o.s);
}

static size_t count_lines(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == '\n';
    return n;
}

/* A heading; a row's paths take a line a part, and one for its words. */
static void check_answer(const struct judgement *s, const struct view_options *view)
{
    enum { ROW_LINES = 1 + GROUP_MAX_PATHS * CALL_PATH_MAX_PARTS };
    struct groups groups;
    struct table table;
    struct text said = {0};
    text_add(&said, "");
    groups_init(&groups, s->p, view);
    table_init(&table, &groups, ANSWER_MAX_ROWS);
    answer_write(&table, FEW_COLUMNS, &said);
    check_text(said.s, said.len, false);
    FUZZ_CHECK(count_lines(said.s) <= 1 + ROW_LINES * ANSWER_MAX_ROWS);
    text_release(&said);
    table_release(&table);
    groups_release(&groups);
}

/* Every frame is one line; a thread's head has a few, so have the process's and the last ones. */
static void check_dump(struct judgement *s, const struct view_options *view)
{
    struct dump d = {.profile = s->p,
                     .view = view_new(s->p, view),
                     .threads = s->threads,
                     .n = s->n_threads,
                     .capacity = MAX_THREADS};
    enum { HEAD_LINES = 12 };
    size_t lines = HEAD_LINES;
    for (size_t i = 0; i < d.n; i++) {
        size_t n;
        (void)view_stack(d.view, d.threads[i].at, &n);
        lines += n + HEAD_LINES;
    }
    struct output o;
    dump_label_threads(&d);
    for (int full = 0; full <= 1; full++) {
        begin(&o);
        d.style = (struct dump_style){.full = full, .width = 79};
        dump_text(&d, o.file);
        (void)fclose(o.file);
        check_text(o.s, o.len, false);
        FUZZ_CHECK(count_lines(o.s) <= lines);
        free(o.s);
    }
    begin(&o);
    FUZZ_CHECK(dump_json(&d, o.file) == 0);
    (void)fclose(o.file);
    FUZZ_CHECK(is_json(o.s, o.len));
    free(o.s);
    for (size_t i = 0; i < d.n; i++)
        dump_thread_release(&d.threads[i]);
    view_free(d.view);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct feed f = {bytes, len};
    static struct judgement s;
    memset(&s, 0, sizeof s);
    fill(&s, &f);
    uint8_t how = feed_u8(&f);
    struct view_options view = {.lines = how & 1, .internals = how & 2, .no_native = how & 4};
    check_export(&s, "speedscope", &view);
    check_export(&s, "firefox", &view);
    check_export(&s, "pprof", &view);
    check_export(&s, "folded", &view);
    check_export(&s, "flamegraph", &view);
    check_export(&s, "wallspy", &view);
    check_answer(&s, &view);
    check_dump(&s, &view);
    profile_free(s.p);
    return 0;
}
