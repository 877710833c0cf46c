#include "cli/report.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/environment.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "profile/metric_info.h"
#include "summary/coverage.h"
#include "summary/known_used.h"
#include "summary/ledger.h"
#include "summary/process_tree.h"
#include "summary/short_name.h"

uint32_t report_python_threads(const struct profile *p)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i <= profile_thread_count(p); i++)
        n += profile_see_thread(p, (thread_id){i})->python;
    return n;
}

/* Names are the target's, and may hold line ends. */
static void add_name(struct text *out, const struct profile *p, string_id name)
{
    const char *s = profile_text(p, name);
    text_add_tame(out, s, strlen(s));
}

static void describe_process(const struct profile *p, process_id id, struct text *out)
{
    const struct profile_process *process = profile_see_process(p, id);
    text_addf(out, "%d (", process->pid);
    add_name(out, p, process->command.ix ? process->command : process->comm);
    if (process->python_version.ix) {
        text_add(out, ", CPython ");
        add_name(out, p, process->python_version);
    }
    text_add(out, ")");
}

void report_headline(struct recording *r)
{
    const struct profile *p = recording_profile(r);
    struct text line = {0};
    uint32_t n = profile_process_count(p);
    text_add(&line, "sampling ");
    if (n == 1)
        describe_process(p, (process_id){1}, &line);
    else
        text_addf(&line, "%u processes", n);
    uint32_t threads = sampler_thread_count(recording_sampler(r));
    text_addf(&line, ", %u thread%s (%u Python), %g Hz", threads, threads == 1 ? "" : "s",
              report_python_threads(p), sampler_rate_hz(recording_sampler(r)));
    terminal_info("%s", line.s);
    text_release(&line);
}

void report_progress(struct recording *r)
{
    static const int64_t shown_ns = 5 * (int64_t)NS_PER_S; /* the line tells of now */
    const struct sampler_counters *c = sampler_counters(recording_sampler(r));
    /* Not the time of the last message: a target that sleeps sends none. */
    double seconds = (double)recording_running_ns(r) / NS_PER_S;
    uint32_t threads = sampler_thread_count(recording_sampler(r));
    if (!terminal_is_live() || seconds <= 0)
        return;
    struct text line = {0};
    text_addf(&line, "%4.0fs  %.1f Hz  %u thread%s  overhead %.2f%%  %d%% seen   Ctrl-C: write",
              seconds, (double)counters_get(c, COUNT_TICKS) / seconds, threads,
              threads == 1 ? "" : "s", 100 * recording_shares(r).lost,
              (int)(100 * coverage_so_far(recording_profile(r), shown_ns) + 0.001));
    terminal_progress(line.s);
    text_release(&line);
}

bool report_naming(void *percent_shown, double share)
{
    int *shown = percent_shown;
    int percent = (int)(100 * share);
    struct text line = {0};
    if (terminal_is_live() && percent != *shown) {
        *shown = percent;
        text_addf(&line, "naming frames… %d%%", percent);
        terminal_progress(line.s);
        text_release(&line);
    }
    return !report_discarded();
}

bool report_discarded(void)
{
    if (signals_hear_stop())
        terminal_info("stopping, writing… (again: discard)");
    return signals_discard_wanted();
}

/* "  rule waits_meanwhile of main: share 0.79, candidates 1" */
static void add_rules(const struct findings *f, struct text *out)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct finding *rule = &f->items[i];
        text_addf(out, "  rule %s%s%s%s", rule->rule, rule->about ? " of " : "",
                  rule->about ? rule->about : "", rule->n_figures ? ":" : "");
        for (size_t k = 0; k < rule->n_figures; k++)
            text_addf(out, "%s %s %.3g", k ? "," : "", rule->figures[k].name,
                      rule->figures[k].value);
        text_add(out, "\n");
    }
}

void report_add_answer(const struct groups *groups, const struct findings *findings, bool verbose,
                       struct text *out)
{
    struct table table;
    int width = terminal_width();
    width = width > ANSWER_MIN_WIDTH ? width : ANSWER_MIN_WIDTH;
    table_init(&table, groups, ANSWER_MAX_ROWS);
    findings_write(findings, width, out);
    answer_write(&table, width, out);
    if (verbose) {
        add_rules(findings, out);
        ledger_write(&findings->ledger, width, out);
        known_write_used(groups->v, width, out);
        environment_write(groups, width, out);
    }
    table_release(&table);
}

static void add_process_row(const struct process_row *row, size_t columns, struct text *out)
{
    struct text label = {0};
    size_t indent = 2 * (size_t)row->depth;
    text_addf(&label, "%*s", (int)indent, "");
    short_label_add(&label, row->label, &row->shape, columns - indent);
    text_addf(out, "  %s", label.s);
    size_t used = utf8_columns(label.s, label.len);
    text_addf(out, "%*s", used < columns ? (int)(columns - used) : 0, "");
    text_addf(out, " %8.2f %8.2f %8.2f %8.2f %8.2f\n", (double)row->start_ns / NS_PER_S,
              (double)row->end_ns / NS_PER_S, (double)row->run_ns / NS_PER_S,
              (double)row->wait_cpu_ns / NS_PER_S, (double)row->blocked_ns / NS_PER_S);
    if (row->unsampled_children_ns >= NS_PER_S / 100)
        text_addf(out, "  %*schildren, not sampled: run %.2f s\n", 2 * (int)row->depth + 2, "",
                  (double)row->unsampled_children_ns / NS_PER_S);
    text_release(&label);
}

void report_processes(const struct profile *p, const struct view_options *options)
{
    enum { COLUMNS = 32, MOST_DEPTH = 8 };
    struct text out = {0};
    struct thread_summaries threads;
    struct process_tree tree;
    if (profile_process_count(p) < 2)
        return;
    struct view *view = view_new(p, options);
    thread_summaries_init(&threads, p, view);
    process_tree_init(&tree, p, &threads);
    text_addf(&out, "  %-*s %8s %8s %8s %8s %8s\n", COLUMNS, "process, in seconds", "start", "end",
              "run", "wait-cpu", "blocked");
    for (size_t i = 0; i < tree.n; i++) {
        tree.rows[i].depth = tree.rows[i].depth < MOST_DEPTH ? tree.rows[i].depth : MOST_DEPTH;
        if (tree.rows[i].n_threads)
            add_process_row(&tree.rows[i], COLUMNS, &out);
    }
    terminal_block(out.s);
    text_release(&out);
    process_tree_release(&tree);
    thread_summaries_release(&threads);
    view_free(view);
}

/* "  held_share                   0.53 %" */
static void add_metric(struct text *out, enum metric m, double value)
{
    const struct metric_info *info = metric_info(m);
    const char *unit = metric_unit_text(info->unit);
    text_addf(out, "  %-28s %.10g%s%s\n", info->key, info->unit == UNIT_SHARE ? 100 * value : value,
              *unit ? " " : "", unit);
}

void report_stats(const struct profile *p)
{
    struct text out = {0};
    size_t n;
    const struct profile_metadatum *facts = profile_metadata(p, &n);
    for (size_t i = 0; i < n; i++) {
        text_addf(&out, "  %-28s ", facts[i].key);
        add_name(&out, p, facts[i].text);
        text_add(&out, "\n");
    }
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++)
        add_metric(&out, m, profile_number(p, m));
    terminal_lines(out.s);
    text_release(&out);
}
