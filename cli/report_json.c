#include "cli/report_json.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/share.h"
#include "cli/chosen.h"
#include "cli/json_head.h"
#include "cli/quality.h"
#include "cli/report_waits.h"
#include "exporter/findings_block.h"
#include "profile/kept.h"
#include "profile/metric_info.h"
#include "profile/moments.h"
#include "summary/coverage.h"
#include "summary/heaviest_paths.h"
#include "summary/process_name.h"

static void number_field(struct json *j, const char *key, double value)
{
    json_key(j, key);
    json_number(j, value);
}

static void seconds_field(struct json *j, const char *key, int64_t ns)
{
    number_field(j, key, (double)ns / NS_PER_S);
}

static void begin_list(struct json *j, const char *key)
{
    json_newline(j);
    json_array_field(j, key);
}

static void begin_item(struct json *j)
{
    json_newline(j);
    json_object(j);
}

static void begin_object(struct json *j, const char *key)
{
    json_newline(j);
    json_key(j, key);
    json_object(j);
}

/* Ends the list of SHOWN of N. */
static void end_list(struct json *j, const char *left_out, size_t shown, size_t n)
{
    json_end_array(j);
    json_int_field(j, left_out, (int64_t)(n - shown));
}

static size_t at_most(size_t n)
{
    return n < REPORT_JSON_MOST ? n : REPORT_JSON_MOST;
}

static void text_field(struct json *j, const char *key, const char *s)
{
    json_string_field(j, key, s && *s ? s : NULL);
}

/* ---- the recording ---- */

/* null: unknown */
static void write_utc(struct json *j, const char *key, int64_t utc_ns)
{
    char utc[CLOCK_UTC_BYTES] = "";
    if (utc_ns)
        clock_utc_text_of(utc_ns, utc);
    text_field(j, key, utc);
}

static void write_recording(struct json *j, const struct report_json *r)
{
    const struct window *w = r->window;
    begin_object(j, "recording");
    json_string_field(j, "file", r->o->inputs.n ? r->o->inputs.words[0] : NULL);
    json_string_field(j, "format", r->speedscope ? "speedscope" : "wallspy");
    text_field(j, "host", profile_metadata_text(r->p, "host"));
    text_field(j, "kernel", profile_metadata_text(r->p, "kernel"));
    write_utc(j, "started", w->started_utc_ns);
    seconds_field(j, "seconds", w->whole_ns);
    number_field(j, "rate_hz", profile_number(r->p, METRIC_RATE_HZ));
    json_end_object(j);
}

static void write_window(struct json *j, const struct report_json *r)
{
    const struct window *w = r->window;
    bool known = profile_origin(r->p)->utc_ns != 0;
    begin_object(j, "window");
    seconds_field(j, "from", w->from_ns);
    seconds_field(j, "to", w->to_ns);
    write_utc(j, "from_utc", profile_origin(r->p)->utc_ns);
    write_utc(j, "to_utc", known ? profile_utc_of(r->p, w->to_ns - w->from_ns) : 0);
    json_int_field(j, "threads_without_time", w->cut.left_out);
    seconds_field(j, "counted", w->cut.counted_ns);
    seconds_field(j, "by_samples", w->cut.by_samples_ns);
    seconds_field(j, "step", w->asked ? w->cut.step_ns : profile_time_step_ns(r->p));
    json_end_object(j);
}

static void write_process(struct json *j, const struct profile *p, process_id id)
{
    const struct profile_process *process = profile_see_process(p, id);
    char *name = name_of_process(p, id);
    begin_item(j);
    json_int_field(j, "pid", process->pid);
    text_field(j, "name", *name ? name : profile_text(p, process->comm));
    text_field(j, "command", profile_text(p, process->command));
    text_field(j, "python", profile_text(p, process->python_version));
    if (json_known(j, "parent", process->parent.ix != 0))
        json_int(j, profile_see_process(p, process->parent)->pid);
    json_end_object(j);
    free(name);
}

static void write_processes(struct json *j, const struct report_json *r)
{
    const bool *only = r->o->view.processes;
    size_t shown = 0;
    size_t n = 0;
    begin_list(j, "processes");
    for (uint32_t i = 1; i <= profile_process_count(r->p); i++) {
        if (only && !only[i])
            continue;
        if (n++ >= REPORT_JSON_MOST)
            continue;
        write_process(j, r->p, (process_id){i});
        shown++;
    }
    end_list(j, "processes_left_out", shown, n);
}

/* ---- findings ---- */

static void write_leader(struct json *j, const struct ledger *l)
{
    json_newline(j);
    if (!l->leader) {
        json_string_field(j, "leader", NULL);
        return;
    }
    json_key(j, "leader");
    json_object(j);
    json_string_field(j, "name", l->leader->noun);
    json_int_field(j, "threads", (int64_t)l->leader->n_threads);
    seconds_field(j, "wall", l->wall_ns);
    seconds_field(j, "idle", l->idle_ns);
    seconds_field(j, "unseen", l->unseen_ns);
    json_end_object(j);
}

static int write_findings(struct json *j, const struct findings *f)
{
    char *block = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&block, &len);
    int r = out ? findings_block_write(f, out) : -ENOMEM;
    if (out && fclose(out) != 0 && r == 0)
        r = -ENOMEM;
    if (r == 0) {
        json_newline(j);
        json_key(j, "findings");
        json_raw(j, block);
    }
    free(block);
    return r;
}

/* ---- threads ---- */

static void write_states(struct json *j, const struct thread_summary *t)
{
    json_key(j, "seconds");
    json_object(j);
    seconds_field(j, "wall", t->wall_ns);
    seconds_field(j, "run", t->cpu_ns);
    seconds_field(j, "wait_cpu", t->runqueue_ns);
    seconds_field(j, "blocked", t->wall_ns - t->cpu_ns - t->runqueue_ns);
    json_end_object(j);
}

static void write_where(struct json *j, const struct groups *g, const struct thread_summary *t)
{
    struct tally tally;
    struct call_path paths[GROUP_MAX_PATHS];
    tally_init(&tally, g->tree, TALLY_ALL);
    tally_add_thread(&tally, t->thread);
    size_t n = call_paths_heaviest(&tally, paths, GROUP_MAX_PATHS);
    json_array_field(j, "where");
    for (size_t i = 0; i < n; i++) {
        const char *parts[CALL_PATH_MAX_PARTS];
        size_t n_parts = call_path_parts(&paths[i], parts);
        json_object(j);
        seconds_field(j, "seconds", paths[i].ns);
        number_field(j, "share", share_of(paths[i].ns, t->wall_ns));
        json_array_field(j, "path");
        for (size_t k = 0; k < n_parts; k++)
            json_string(j, parts[k]);
        json_end_array(j);
        json_end_object(j);
        call_path_release(&paths[i]);
    }
    json_end_array(j);
    tally_release(&tally);
}

static void write_thread(struct json *j, const struct groups *g, const struct thread_summary *t)
{
    const struct profile_thread *thread = t->thread;
    begin_item(j);
    json_string_field(j, "name", t->name);
    json_string_field(j, "label", t->label);
    json_string_field(j, "group", groups_of(g, thread) ? groups_of(g, thread)->noun : NULL);
    json_int_field(j, "pid", profile_see_process(g->p, thread->process)->pid);
    json_int_field(j, "tid", thread->tid);
    json_int_field(j, "threads", (int64_t)t->n_threads);
    json_bool_field(j, "main", thread->main);
    json_bool_field(j, "python", thread->python);
    json_bool_field(j, "idle", t->idle);
    seconds_field(j, "start", thread->start_ns);
    seconds_field(j, "end", thread->end_ns);
    write_states(j, t);
    number_field(j, "seen", coverage_of_thread(t));
    json_int_field(j, "faults", (int64_t)events_faults(thread));
    json_int_field(j, "switches", (int64_t)events_switches(thread));
    write_where(j, g, t);
    json_end_object(j);
}

static void write_threads(struct json *j, const struct report_json *r, const struct groups *g)
{
    const struct thread_summaries *s = &g->summaries;
    size_t shown = 0;
    size_t n = 0;
    begin_list(j, "threads");
    for (size_t i = 0; i < s->n; i++) {
        if (!chosen_thread(r->o, r->p, &s->threads[i]))
            continue;
        if (n++ >= REPORT_JSON_MOST)
            continue;
        write_thread(j, g, &s->threads[i]);
        shown++;
    }
    end_list(j, "threads_left_out", shown, n);
}

/* ---- functions and waits ---- */

static void write_times(struct json *j, const char *key, const struct times *t)
{
    json_key(j, key);
    json_object(j);
    seconds_field(j, "wall", t->ns[PATH_WALL]);
    seconds_field(j, "run", t->ns[PATH_RUN]);
    seconds_field(j, "wait_cpu", t->ns[PATH_WAIT_CPU]);
    seconds_field(j, "blocked", t->ns[PATH_BLOCKED]);
    json_end_object(j);
}

static void write_functions(struct json *j, const struct report_source *s)
{
    struct report_functions functions;
    report_functions_init(&functions, s);
    size_t shown = at_most(functions.n);
    begin_list(j, "functions");
    for (size_t i = 0; i < shown; i++) {
        const struct function_times *f = &functions.items[i];
        begin_item(j);
        json_string_field(j, "name", f->frame.name);
        json_string_field(j, "file", f->frame.file);
        if (json_known(j, "line", f->frame.line != 0))
            json_int(j, f->frame.line);
        write_times(j, "self", &f->self);
        write_times(j, "total", &f->total);
        json_end_object(j);
    }
    end_list(j, "functions_left_out", shown, functions.n);
    report_functions_release(&functions);
}

/* Whoever has what W is for, if that is one thread or process. */
static void write_holder(struct json *j, const struct wait *w)
{
    const struct blocker *b = &w->side.blocker;
    if (!json_known(j, "holder", b->pid > 0))
        return;
    json_object(j);
    json_int_field(j, "pid", b->pid);
    if (json_known(j, "tid", b->tid > 0))
        json_int(j, b->tid);
    json_end_object(j);
}

static void write_wait(struct json *j, const struct profile *p, const struct wait_rows *rows,
                       size_t i)
{
    const struct wait_row *row = &rows->items[i];
    const struct wait *w = row->wait;
    const struct wait_side *side = &w->side;
    const char *lock = side->addr ? profile_lock_name(p, side->blocker.pid, side->addr) : "";
    begin_item(j);
    json_string_field(j, "what", wait_rows_words(rows, i));
    text_field(j, "call", profile_text(p, w->call));
    text_field(j, "object", profile_text(p, w->object));
    text_field(j, "lock", lock);
    write_holder(j, w);
    seconds_field(j, "seconds", row->ns);
    json_int_field(j, "threads", row->threads);
    json_int_field(j, "times", (int64_t)row->times);
    json_end_object(j);
}

static void write_waits(struct json *j, const struct report_source *s)
{
    struct wait_rows rows;
    wait_rows_init(&rows, s);
    size_t shown = at_most(rows.n);
    begin_list(j, "waits");
    for (size_t i = 0; i < shown; i++)
        write_wait(j, s->p, &rows, i);
    end_list(j, "waits_left_out", shown, rows.n);
    wait_rows_release(&rows);
}

/* ---- quality ---- */

static void write_quality(struct json *j, const struct profile *p)
{
    struct text words = {0};
    begin_object(j, "quality");
    json_bool_field(j, "whole", quality_text(p, &words));
    json_string_field(j, "words", words.s);
    json_key(j, "figures");
    json_object(j);
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++)
        number_field(j, metric_info(m)->key, profile_number(p, m));
    json_end_object(j);
    json_end_object(j);
    text_release(&words);
}

/* ---- all ---- */

static int write_all(struct json *j, const struct report_json *r, const struct groups *g,
                     const struct findings *f)
{
    struct report_source source;
    json_head(j, "report/1");
    json_string_field(j, "kind", "recording");
    write_recording(j, r);
    write_window(j, r);
    write_processes(j, r);
    write_leader(j, &f->ledger);
    int error = write_findings(j, f);
    write_threads(j, r, g);
    report_source_init(&source, r->o, r->p, 0);
    write_functions(j, &source);
    write_waits(j, &source);
    report_source_release(&source);
    write_quality(j, r->p);
    json_end_object(j);
    int finished = json_finish(j);
    return error ? error : finished;
}

int report_json_add(struct text *out, const struct report_json *r, const struct groups *g,
                    const struct findings *f)
{
    char *written = NULL;
    size_t len = 0;
    struct json j = {.out = open_memstream(&written, &len)};
    if (!j.out)
        return -ENOMEM;
    int error = write_all(&j, r, g, f);
    if (fclose(j.out) != 0 && error == 0)
        error = -ENOMEM;
    if (error == 0)
        text_add_bytes(out, written, len);
    free(written);
    return error;
}
