#include "exporter/wallspy_block.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/text.h"
#include "exporter/machine_block.h"
#include "profile/metric_info.h"
#include "profile/moments.h"
#include "summary/openmp.h"
#include "summary/process_name.h"
#include "summary/process_tree.h"

static void text_or_null(struct json *j, const struct profile *p, const char *key, string_id text)
{
    json_string_field(j, key, profile_text_or_null(p, text));
}

static void write_metadata(struct json *j, const struct profile *p)
{
    size_t n = 0;
    const struct profile_metadatum *facts = profile_metadata(p, &n);
    for (size_t i = 0; i < n; i++) {
        assert(!str_eq(facts[i].key, "version") && !str_eq(facts[i].key, "processes") &&
               !str_eq(facts[i].key, "host_cpu") && !str_eq(facts[i].key, "machine") &&
               !str_eq(facts[i].key, "mounts") && !str_eq(facts[i].key, "threads") &&
               !str_eq(facts[i].key, "marks") && !str_eq(facts[i].key, "pauses"));
        json_newline(j);
        json_key(j, facts[i].key);
        json_string(j, profile_text(p, facts[i].text));
    }
}

/* NOTES has what this file itself gave up; the profile does not have that yet. */
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

/* SCHED_…, by its name. */
static const char *policy_name(int policy)
{
    static const char *const names[] = {"other", "fifo", "rr",       "batch",
                                        "iso",   "idle", "deadline", "ext"};
    bool known = policy >= 0 && (size_t)policy < sizeof names / sizeof *names;
    return known ? names[policy] : "unknown";
}

static void number_field(struct json *j, const char *key, double value)
{
    json_key(j, key);
    json_number(j, value);
}

static void write_cpu_limits(struct json *j, const struct profile *p,
                             const struct profile_cpu_limits *l)
{
    json_key(j, "cpu_limits");
    json_object(j);
    json_int_field(j, "cgroup_version", l->cgroup_version);
    if (l->quota_cpus > 0) {
        number_field(j, "quota_cpus", l->quota_cpus);
        text_or_null(j, p, "quota_path", l->quota_path);
        json_int_field(j, "quota_level", l->quota_level);
    }
    json_bool_field(j, "groups_hidden", l->groups_hidden);
    json_int_field(j, "periods", (int64_t)l->periods);
    json_int_field(j, "throttled_periods", (int64_t)l->throttled_periods);
    json_int_field(j, "throttled_ns", l->throttled_ns);
    if (l->throttled_above_ns >= 0)
        json_int_field(j, "throttled_above_ns", l->throttled_above_ns);
    json_int_field(j, "cpus_main", l->cpus_main);
    json_int_field(j, "cpus_any", l->cpus_any);
    json_int_field(j, "threads_pinned", l->threads_pinned);
    json_int_field(j, "nice", l->nice);
    json_string_field(j, "policy", policy_name(l->policy));
    json_end_object(j);
}

static void write_memory_limit(struct json *j, const struct profile *p,
                               const struct profile_memory_limit *l)
{
    if (!l->limit_bytes)
        return;
    json_key(j, "memory_limit");
    json_object(j);
    json_int_field(j, "limit_bytes", (int64_t)l->limit_bytes);
    json_int_field(j, "used_bytes", (int64_t)l->used_bytes);
    json_int_field(j, "reached", (int64_t)l->reached);
    text_or_null(j, p, "path", l->path);
    json_end_object(j);
}

static void write_net(struct json *j, const struct profile_net *net)
{
    if (!net->known)
        return;
    json_key(j, "net");
    json_object(j);
    json_int_field(j, "listen_overflows", (int64_t)net->listen_overflows);
    json_int_field(j, "syn_repeats", (int64_t)net->syn_repeats);
    json_end_object(j);
}

static void write_usage(struct json *j, const struct profile_usage *u)
{
    json_int_field(j, "usage_over_ns", u->over_ns);
    json_int_field(j, "user_ns", u->user_ns);
    json_int_field(j, "system_ns", u->system_ns);
    json_int_field(j, "minor_faults", (int64_t)u->minor_faults);
    json_int_field(j, "major_faults", (int64_t)u->major_faults);
    json_int_field(j, "voluntary_switches", (int64_t)u->voluntary);
    json_int_field(j, "involuntary_switches", (int64_t)u->involuntary);
    json_int_field(j, "read_calls", (int64_t)u->reads);
}

static void write_children(struct json *j, const struct profile *p,
                           const struct profile_process *process)
{
    if (!process->children_known)
        return;
    json_int_field(j, "children_seen", (int64_t)process->children_seen);
    json_array_field(j, "children");
    for (size_t i = 0; i < process->n_children; i++) {
        const struct profile_child *child = &process->children[i];
        json_object(j);
        json_int_field(j, "pid", child->pid);
        text_or_null(j, p, "comm", child->comm);
        json_int_field(j, "cpu_ns", child->cpu_ns);
        json_bool_field(j, "recorded", child->recorded);
        json_end_object(j);
    }
    json_end_array(j);
}

/* Its parent and its rank. */
static void write_kin(struct json *j, const struct profile *p, const struct process_row *row)
{
    const struct profile_process *process = profile_see_process(p, row->id);
    size_t len = 0;
    const char *rank = process_own_rank(p, row->id, &len);
    if (process->parent.ix)
        json_int_field(j, "parent_pid", profile_see_process(p, process->parent)->pid);
    if (rank)
        json_int_field(j, "rank", strtol(rank, NULL, 10));
}

/* The sums over its threads. */
static void write_totals(struct json *j, const struct process_row *row)
{
    json_int_field(j, "threads_sampled", (int64_t)row->n_threads);
    json_bool_field(j, "ended", row->ended);
    json_int_field(j, "start_ns", row->start_ns);
    json_int_field(j, "end_ns", row->end_ns);
    json_int_field(j, "run_ns", row->run_ns);
    json_int_field(j, "wait_cpu_ns", row->wait_cpu_ns);
    json_int_field(j, "blocked_ns", row->blocked_ns);
    if (row->unsampled_children_ns)
        json_int_field(j, "unsampled_children_cpu_ns", row->unsampled_children_ns);
}

static void write_pools(struct json *j, const struct openmp_pools *pools, process_id process)
{
    bool any = false;
    for (size_t i = 0; i < pools->n; i++) {
        const struct openmp_pool *pool = &pools->items[i];
        if (pool->process.ix != process.ix)
            continue;
        if (!any) {
            json_array_field(j, "openmp_pools");
            any = true;
        }
        json_object(j);
        json_string_field(j, "library", pool->library);
        json_int_field(j, "threads", (int64_t)pool->threads);
        json_int_field(j, "run_ns", pool->cpu_ns);
        json_int_field(j, "spin_ns", pool->spin_ns);
        json_int_field(j, "wait_cpu_ns", pool->wait_cpu_ns);
        json_end_object(j);
    }
    if (any)
        json_end_array(j);
}

static void write_processes(struct json *j, const struct profile *p,
                            const struct thread_summaries *s, const struct openmp_pools *pools)
{
    struct process_tree tree;
    process_tree_init(&tree, p, s);
    for (size_t i = 0; i < tree.n; i++) {
        const struct profile_process *process = profile_see_process(p, tree.rows[i].id);
        json_newline(j);
        json_object(j);
        json_int_field(j, "pid", process->pid);
        write_kin(j, p, &tree.rows[i]);
        text_or_null(j, p, "comm", process->comm);
        if (process->title.ix && process->title.ix != process->comm.ix)
            text_or_null(j, p, "title", process->title);
        text_or_null(j, p, "command", process->command);
        if (process->environment.ix)
            text_or_null(j, p, "environment", process->environment);
        if (process->allocator.ix)
            text_or_null(j, p, "allocator", process->allocator);
        if (process->openmp.ix)
            text_or_null(j, p, "openmp", process->openmp);
        write_pools(j, pools, tree.rows[i].id);
        text_or_null(j, p, "python", process->python_version);
        if (process->python_note.ix)
            text_or_null(j, p, "python_note", process->python_note);
        if (process->cpu_limits.known)
            write_cpu_limits(j, p, &process->cpu_limits);
        write_memory_limit(j, p, &process->memory_limit);
        if (process->swapped_known) {
            json_int_field(j, "swapped_first_bytes", process->swapped_first);
            json_int_field(j, "swapped_last_bytes", process->swapped_last);
        }
        write_net(j, &process->net);
        if (process->usage.over_ns)
            write_usage(j, &process->usage);
        if (process->children_cpu_ns)
            json_int_field(j, "children_cpu_ns", process->children_cpu_ns);
        write_children(j, p, process);
        write_totals(j, &tree.rows[i]);
        json_end_object(j);
    }
    process_tree_release(&tree);
}

static void write_thread(struct json *j, const struct profile *p, const struct thread_summary *t)
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
    write_usage(j, &t->thread->usage);
    json_int_field(j, "own_switches", (int64_t)t->thread->own_switches);
    json_bool_field(j, "faults_by_time", t->thread->faults_by_time);
    json_bool_field(j, "switches_by_time", t->thread->switches_by_time);
    json_int_field(j, "samples", (int64_t)samples);
    json_end_object(j);
}

static void write_findings(struct json *j, const struct export_findings *f)
{
    json_newline(j);
    json_key(j, "findings");
    if (f && f->json) {
        json_raw(j, f->json);
        return;
    }
    json_null(j);
    json_optional_field(j, "no_findings", f ? f->why : NULL);
}

static void begin_list(struct json *j, const char *key, size_t n)
{
    if (!n)
        return;
    json_newline(j);
    json_array_field(j, key);
}

static void end_list(struct json *j, size_t n)
{
    if (n)
        json_end_array(j);
}

/* Begins an item of a list of moments. */
static void begin_moment(struct json *j, int64_t at_ns, uint64_t utc_ns)
{
    char utc[CLOCK_UTC_BYTES];
    clock_utc_ms_text((int64_t)utc_ns, utc);
    json_newline(j);
    json_object(j);
    json_int_field(j, "at_ns", at_ns);
    json_string_field(j, "utc", utc);
}

/* What the user did meanwhile; absent where that is nothing. */
static void write_moments(struct json *j, const struct profile *p)
{
    size_t n_marks;
    size_t n_pauses;
    const struct user_mark *marks = profile_marks(p, &n_marks);
    const struct user_pause *pauses = profile_pauses(p, &n_pauses);
    begin_list(j, "marks", n_marks);
    for (size_t i = 0; i < n_marks; i++) {
        begin_moment(j, marks[i].at_ns, marks[i].utc_ns);
        json_string_field(j, "text", profile_text(p, marks[i].text));
        json_end_object(j);
    }
    end_list(j, n_marks);
    begin_list(j, "pauses", n_pauses);
    for (size_t i = 0; i < n_pauses; i++) {
        begin_moment(j, pauses[i].at_ns, pauses[i].utc_ns);
        json_int_field(j, "paused_ns", pauses[i].paused_ns);
        json_end_object(j);
    }
    end_list(j, n_pauses);
}

void wallspy_block_write(struct json *j, const struct profile *p, const struct thread_summaries *s,
                         struct view *v, const struct export_findings *findings,
                         const struct export_notes *notes)
{
    struct openmp_pools pools;
    openmp_pools_init(&pools, s, v);
    json_object(j);
    json_string_field(j, "version", WALLSPY_VERSION);
    write_metadata(j, p);
    write_numbers(j, p, notes);
    write_notes(j, notes);
    write_findings(j, findings);
    write_moments(j, p);
    machine_block_write(j, p);
    json_newline(j);
    json_array_field(j, "processes");
    write_processes(j, p, s, &pools);
    json_end_array(j);
    json_newline(j);
    json_array_field(j, "threads");
    for (size_t i = 0; i < s->n; i++)
        write_thread(j, p, &s->threads[i]);
    json_end_array(j);
    json_end_object(j);
    openmp_pools_release(&pools);
}
