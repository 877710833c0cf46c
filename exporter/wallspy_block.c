#include "exporter/wallspy_block.h"

#include <assert.h>

#include "base/text.h"
#include "profile/metric_info.h"

static void text_or_null(struct json *j, const struct profile *p, const char *key, string_id text)
{
    json_string_field(j, key, text.ix ? profile_text(p, text) : NULL);
}

static void write_facts(struct json *j, const struct profile *p)
{
    size_t n = 0;
    const struct profile_fact *facts = profile_facts(p, &n);
    for (size_t i = 0; i < n; i++) {
        assert(!str_eq(facts[i].key, "version") && !str_eq(facts[i].key, "processes") &&
               !str_eq(facts[i].key, "threads"));
        json_newline(j);
        json_key(j, facts[i].key);
        json_string(j, profile_text(p, facts[i].text));
    }
}

/* What this file itself gave up is in NOTES, not yet in the profile. */
static void write_numbers(struct json *j, const struct profile *p, const struct export_notes *notes)
{
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++) {
        bool shortened = m == METRIC_STACKS_SHORTENED;
        json_newline(j);
        json_key(j, metric_info(m)->key);
        json_number(j, shortened ? (double)notes->stacks_shortened : profile_number(p, m));
    }
}

static void write_notes(struct json *j, const struct export_notes *notes)
{
    if (*notes->coarsened) {
        json_newline(j);
        json_string_field(j, "coarsened", notes->coarsened);
    }
}

static void write_processes(struct json *j, const struct profile *p, process_id only)
{
    for (uint32_t i = 1; i <= profile_process_count(p); i++) {
        const struct profile_process *process = profile_see_process(p, (process_id){i});
        if (only.ix && only.ix != i)
            continue;
        json_newline(j);
        json_object(j);
        json_int_field(j, "pid", process->pid);
        text_or_null(j, p, "comm", process->comm);
        text_or_null(j, p, "command", process->command);
        if (process->environment.ix)
            text_or_null(j, p, "environment", process->environment);
        text_or_null(j, p, "python", process->python_version);
        if (process->python_note.ix)
            text_or_null(j, p, "python_note", process->python_note);
        json_end_object(j);
    }
}

static void write_thread(struct json *j, const struct profile *p, const struct surveyed *t)
{
    uint64_t samples = 0;
    int64_t missed_ns = 0;
    for (size_t i = 0; i < t->thread->n_runs; i++) {
        samples += t->thread->runs[i].samples;
        missed_ns +=
            t->thread->runs[i].state == RUN_MISSED ? t->thread->runs[i].weights.wall_ns : 0;
    }
    json_newline(j);
    json_object(j);
    json_int_field(j, "pid", profile_see_process(p, t->thread->process)->pid);
    if (t->thread->n_folded)
        json_int_field(j, "threads", t->thread->n_folded);
    else
        json_int_field(j, "tid", t->thread->tid);
    text_or_null(j, p, "name", t->thread->name);
    json_string_field(j, "label", t->label);
    json_bool_field(j, "main", t->thread->main);
    json_bool_field(j, "python", t->thread->python);
    json_bool_field(j, "idle", t->idle);
    json_bool_field(j, "ended", t->thread->ended);
    json_int_field(j, "start_ns", t->thread->start_ns);
    json_int_field(j, "end_ns", t->thread->end_ns);
    json_int_field(j, "run_ns", t->cpu_ns);
    json_int_field(j, "wait_cpu_ns", t->runqueue_ns);
    json_int_field(j, "blocked_ns", t->wall_ns - t->cpu_ns - t->runqueue_ns);
    json_int_field(j, "missed_ns", missed_ns);
    json_int_field(j, "voluntary_switches", (int64_t)t->thread->voluntary);
    json_int_field(j, "involuntary_switches", (int64_t)t->thread->involuntary);
    json_int_field(j, "samples", (int64_t)samples);
    json_end_object(j);
}

void wallspy_block_write(struct json *j, const struct profile *p, const struct survey *s,
                         const struct export_notes *notes)
{
    json_object(j);
    json_string_field(j, "version", WALLSPY_VERSION);
    write_facts(j, p);
    write_numbers(j, p, notes);
    write_notes(j, notes);
    json_newline(j);
    json_key(j, "processes");
    json_array(j);
    write_processes(j, p, s->only);
    json_end_array(j);
    json_newline(j);
    json_key(j, "threads");
    json_array(j);
    for (size_t i = 0; i < s->n; i++)
        write_thread(j, p, &s->threads[i]);
    json_end_array(j);
    json_end_object(j);
}
