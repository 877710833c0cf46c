#include "cli/report.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "exporter/finding.h"

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
    uint32_t threads = sampler_task_count(recording_sampler(r));
    text_addf(&line, ", %u thread%s (%u Python), %g Hz", threads, threads == 1 ? "" : "s",
              report_python_threads(p), sampler_rate_hz(recording_sampler(r)));
    terminal_info("%s", line.s);
    text_release(&line);
}

void report_progress(struct recording *r)
{
    const struct sampler_counters *c = sampler_counters(recording_sampler(r));
    /* Not the time of the last message: a target that sleeps sends none. */
    double seconds = (double)recording_running_ns(r) / NS_PER_S;
    uint32_t threads = sampler_task_count(recording_sampler(r));
    if (!terminal_is_live() || seconds <= 0)
        return;
    struct text line = {0};
    text_addf(
        &line, "%4.0fs  %.1f Hz  %u thread%s  target held %.2f%%  errors %llu   Ctrl-C: write",
        seconds, (double)counters_get(c, COUNT_TICKS) / seconds, threads, threads == 1 ? "" : "s",
        100 * recording_held_share(r), (unsigned long long)counters_get(c, COUNT_REFUSED));
    terminal_progress(line.s);
    text_release(&line);
}

bool report_naming(void *percent_told, double share)
{
    int *told = percent_told;
    int percent = (int)(100 * share);
    struct text line = {0};
    if (terminal_is_live() && percent != *told) {
        *told = percent;
        text_addf(&line, "naming frames… %d%%", percent);
        terminal_progress(line.s);
        text_release(&line);
    }
    return !signals_discard_wanted();
}

void report_finding(struct recording *r, const struct view_options *view)
{
    struct text table = {0};
    int width = terminal_width();
    finding_write(recording_profile(r), view, width > FINDING_MIN_WIDTH ? width : FINDING_MIN_WIDTH,
                  &table);
    if (table.len)
        terminal_block(table.s);
    text_release(&table);
}

/* What makes a recording less than whole, in the words of the quality line. */
static const struct {
    const char *fact, *one, *words; /* "1 tick late", "2 ticks late" */
} doubts[] = {
    {"samples_not_held", "sample", "of running threads without native frames (--no-stop)"},
    {"unwind_stack_cut", "stack", "cut short"},
    {"unwind_needs_registers", "stack", "cut for want of registers"},
    {"unwind_no_cfi", "stack", "cut where code has no unwind information"},
    {"unwind_bad_memory", "stack", "cut at unreadable memory"},
    {"unwind_no_progress", "stack", "cut for running in circles"},
    {"unwind_too_deep", "stack", "too deep"},
    {"frames_guessed", "frame", "guessed"},
    {"merge_native_cut", "Python stack", "without all native frames"},
    {"merge_mismatch", "Python stack", "unlike the native one"},
    {"python_walks_cut", "Python stack", "cut short"},
    {"unknown_code_objects", "Python frame", "of code that was gone"},
    {"no_stop_given_up", "sample", "lost to threads that kept moving"},
    {"ring_full", "sample", "lost because wallspy fell behind"},
    {"refused", "sample", "refused"},
    {"stuck", "thread", "that could be let go only by ending early"},
    {"backed_off", "sample", "left out of calls that make no progress when stopped"},
    {"execve_waits", "sample", "left out while an execve of the program hung"},
    {"unreadable", "file", "of /proc that could not be read"},
    {"perturbed_calls", "call", "interrupted"},
    {"cut_calls", "call", "that may have been cut short"},
    {"supervised_calls", "call", "that a seccomp supervisor was asked for twice"},
    {"supervised", "sample",
     "of threads that a seccomp supervisor answers for, not stopped for it"},
    {"late_ticks", "tick", "late"},
    {"threads_not_met", "thread", "whose turn never came"},
    {"names_refused", "name", "of what is new, for want of room (--max-size)"},
    {"stacks_refused", "stack", "cut where new, for want of room (--max-size)"},
    {"runs_refused", "gap", "for want of room (--max-size)"},
};

/* What was given up, which leaves all sums as they are. */
static void add_notes(struct text *line, const struct profile *p)
{
    double step_s = profile_number(p, "time_step_s");
    double folded = profile_number(p, "threads_folded");
    double throttled_s = profile_number(p, "throttled_s");
    const char *coarsened = profile_fact_text(p, "coarsened");
    if (profile_number(p, "rate_lowered") > 0)
        text_addf(line, "rate lowered to %.1f Hz, ", profile_number(p, "rate_hz"));
    if (throttled_s > 0)
        text_addf(line, "wallspy throttled for %.2f s by its cgroup's CPU quota, ", throttled_s);
    if (step_s > 0)
        text_addf(line, "order in time kept in steps of %g s (--max-size), ", step_s);
    if (folded > 0)
        text_addf(line, "%.0f ended threads told by name only (--max-size), ", folded);
    if (*coarsened)
        text_addf(line, "file %s, ", coarsened);
}

static void add_held(struct text *line, const struct profile *p)
{
    text_addf(line, "target held %.2f%% (p99 %.2f ms)", 100 * profile_number(p, "held_share"),
              profile_number(p, "held_p99_ns") / NS_PER_MS);
}

bool report_quality(struct recording *r)
{
    const struct profile *p = recording_profile(r);
    struct text line = {0};
    bool whole = true;
    for (size_t i = 0; i < sizeof doubts / sizeof *doubts; i++) {
        double n = profile_number(p, doubts[i].fact);
        if (n <= 0)
            continue;
        text_addf(&line, "%s%.0f %s%s %s", whole ? "" : ", ", n, doubts[i].one, n == 1 ? "" : "s",
                  doubts[i].words);
        whole = false;
    }
    struct text said = {0};
    text_add(&said, whole ? "quality ok: all samples merged, " : "quality: ");
    if (!whole)
        text_addf(&said, "of %.0f stacks: %s; ", profile_number(p, "stacks_made"), line.s);
    add_notes(&said, p);
    add_held(&said, p);
    terminal_info("%s", said.s);
    text_release(&line);
    text_release(&said);
    return whole;
}

void report_stats(const struct profile *p)
{
    struct text out = {0};
    size_t n;
    const struct profile_fact *facts = profile_facts(p, &n);
    for (size_t i = 0; i < n; i++) {
        text_addf(&out, "  %-28s ", facts[i].key);
        if (facts[i].is_number)
            text_addf(&out, "%.10g", facts[i].number);
        else
            add_name(&out, p, facts[i].text);
        text_add(&out, "\n");
    }
    if (out.len)
        terminal_lines(out.s);
    text_release(&out);
}
