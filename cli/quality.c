#include "cli/quality.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "summary/seen.h"

static const double least_seen = 0.9;
/* Ticks that begin later than this after they were due, on average, find the program elsewhere than it was then. */
static const double most_delay_ns = NS_PER_MS, most_delay_share = 0.25;

/* What makes a recording less than whole.  OF: the number that a doubt's number is a part of. */
static const struct {
    const char *fact, *of, *one, *words; /* "1 of 300 samples late", "2 of 300 samples late" */
} doubts[] = {
    {"late_ticks", "ticks", "sample", "late"},
    {"ring_full", NULL, "sample", "lost because wallspy fell behind"},
    {"no_stop_given_up", NULL, "sample", "lost to threads that kept moving"},
    {"refused", NULL, "sample", "refused"},
    {"backed_off", NULL, "sample", "left out of calls that make no progress when stopped"},
    {"syscall_reads_skipped", NULL, "sample", "left out since /proc/PID/syscall answers slowly"},
    {"execve_waits", NULL, "sample", "left out while an execve of the program hung"},
    {"memory_locked", NULL, "sample",
     "left out while the program's memory was locked (fork, mprotect)"},
    {"samples_not_held", NULL, "sample", "of running threads without native frames"},
    {"threads_not_met", NULL, "thread", "never sampled"},
    {"threads_without_a_sample", NULL, "thread", "that ended before its first sample"},
    {"stuck", NULL, "thread", "that could be let go only by ending early"},
    {"unwind_stack_cut", "stacks_made", "stack", "cut short"},
    {"unwind_needs_registers", "stacks_made", "stack", "cut for want of registers"},
    {"unwind_no_cfi", "stacks_made", "stack", "cut where code has no unwind information"},
    {"unwind_bad_memory", "stacks_made", "stack", "cut at unreadable memory"},
    {"unwind_no_progress", "stacks_made", "stack", "cut where unwinding made no progress"},
    {"unwind_too_deep", "stacks_made", "stack", "too deep"},
    {"frames_guessed", NULL, "frame", "guessed"},
    {"merge_native_cut", "stacks_made", "Python stack", "without all native frames"},
    {"merge_mismatch", "stacks_made", "Python stack", "unlike the native one"},
    {"python_walks_cut", "stacks_made", "Python stack", "cut short"},
    {"python_reads_failed", "stacks_made", "Python stack", "that could not be read whole"},
    {"unknown_code_objects", NULL, "Python frame", "of code that was gone"},
    {"unreadable", NULL, "file", "of /proc that could not be read"},
    {"images_cut", NULL, "library", "of which not all could be read from memory"},
    {"mappings_cut", NULL, "mapping", "left out"},
    {"perturbed_calls", NULL, "call", "interrupted"},
    {"cut_calls", NULL, "call", "that may have been cut short"},
    {"supervised_calls", NULL, "call", "that a seccomp supervisor was asked for twice"},
    {"names_refused", NULL, "name", "left out for want of room (--max-size)"},
    {"frames_refused", NULL, "frame", "left out for want of room (--max-size)"},
    {"stacks_refused", NULL, "stack", "cut for want of room (--max-size)"},
    {"runs_refused", NULL, "gap", "for want of room (--max-size)"},
};

static void add_doubt(struct text *line, const struct profile *p, size_t i)
{
    double n = profile_number(p, doubts[i].fact);
    double of = doubts[i].of ? profile_number(p, doubts[i].of) : 0;
    text_addf(line, "%s%.0f ", line->len ? ", " : "", n);
    if (str_eq(doubts[i].fact, "late_ticks")) /* those were no ticks */
        of += n;
    if (of > 0)
        text_addf(line, "of %.0f ", of);
    text_addf(line, "%s%s %s", doubts[i].one, of > 1 || n != 1 ? "s" : "", doubts[i].words);
}

/* Appends what casts doubt on the samples as a whole. */
static void add_biases(struct text *line, const struct profile *p)
{
    const char *check = profile_fact_text(p, "self_check");
    double ticks = profile_number(p, "ticks");
    double rate_hz = profile_number(p, "rate_hz");
    double delay_ns = ticks > 0 ? profile_number(p, "tick_delay_ns") / ticks : 0;
    if (*check)
        text_addf(line, "%s%s", line->len ? ", " : "", check);
    if (delay_ns > most_delay_ns && rate_hz > 0 &&
        delay_ns > most_delay_share * (double)NS_PER_S / rate_hz)
        text_addf(line, "%ssamples taken %.1f ms late on average", line->len ? ", " : "",
                  delay_ns / NS_PER_MS);
}

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

/* "99% of the time seen": rounded down, but for what clocks differ by. */
static void add_seen(struct text *out, double seen)
{
    text_addf(out, "%s%d%% of the time seen", seen < least_seen ? "only " : "",
              (int)(100 * seen + 0.001));
}

bool quality_text(const struct profile *p, struct text *out)
{
    struct text line = {0};
    double seen = profile_number(p, "seen_share");
    for (size_t i = 0; i < sizeof doubts / sizeof *doubts; i++)
        if (profile_number(p, doubts[i].fact) > 0)
            add_doubt(&line, p, i);
    add_biases(&line, p);
    bool whole = !line.len && seen >= least_seen;
    text_add(out, whole ? "quality ok: " : "quality: ");
    add_seen(out, seen);
    text_add(out, ", ");
    if (line.len)
        text_addf(out, "%s; ", line.s);
    else
        text_add(out, "all stacks merged, ");
    add_notes(out, p);
    text_addf(out, "overhead %.2f%% (p99 %.2f ms)", 100 * profile_number(p, "held_share"),
              profile_number(p, "held_p99_ns") / NS_PER_MS);
    text_release(&line);
    return whole;
}

bool quality_report(const struct profile *p)
{
    struct text said = {0};
    bool whole = quality_text(p, &said);
    terminal_info("%s", said.s);
    text_release(&said);
    return whole;
}

static void note_check(struct profile *p, const struct survey *s)
{
    static const char *const states[COUNTED_KINDS] = {
        [COUNTED_CPU] = "running",
        [COUNTED_RUNQUEUE] = "waiting for a CPU",
        [COUNTED_OFF_CPU] = "off the CPU",
    };
    double stolen_s = profile_number(p, "stolen_s");
    struct disagreement d = seen_check(s, (int64_t)(stolen_s * NS_PER_S));
    struct text text = {0};
    if (!d.thread) {
        profile_forget_fact(p, "self_check");
        return;
    }
    text_add_tame(&text, d.thread->label, strlen(d.thread->label));
    text_addf(&text,
              " found %s in %.0f%% of the samples, by the kernel's count it was so for %.0f%%",
              states[d.state], 100 * d.sampled, 100 * d.counted);
    profile_set_text(p, "self_check", text.s);
    text_release(&text);
}

void quality_measure(struct profile *p, const struct view_options *view)
{
    struct view *v = view_new(p, view);
    struct survey survey;
    survey_init(&survey, p, v);
    if (profile_number(p, "stacks_left_out") > 0) { /* --gil: the rest was not to be seen */
        profile_set_number(p, "seen_share", 1);
        profile_forget_fact(p, "self_check");
    } else {
        profile_set_number(p, "seen_share", seen_of_all(&survey));
        note_check(p, &survey);
    }
    survey_release(&survey);
    view_free(v);
}
