#include "cli/quality.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "profile/metric_info.h"
#include "summary/coverage.h"

static const double least_seen = 0.9;
/* If ticks begin later than this on average, the samples show where the program is some time after
 * the tick was due. */
static const double most_delay_ns = NS_PER_MS, most_delay_share = 0.25;

/* "1 of 300 ticks skipped", "2 frames guessed" */
static void add_doubt(struct text *line, const struct profile *p, enum metric m)
{
    const struct metric_info *info = metric_info(m);
    double n = profile_number(p, m);
    double whole = info->part_of ? profile_number(p, info->part_of) : 0;
    text_add(line, line->len ? ", " : "");
    if (!info->noun) {
        text_add(line, info->words);
        return;
    }
    text_addf(line, "%.0f ", n);
    if (info->part_apart)
        whole += n;
    if (whole > 0)
        text_addf(line, "of %.0f ", whole);
    text_addf(line, "%s%s %s", info->noun, whole > 1 || n != 1 ? "s" : "", info->words);
    if (m == METRIC_FRAMES_UNNAMED)
        text_addf(line, ": %s", profile_metadata_text(p, "naming_failed"));
}

/* Appends what makes the recording less than whole. */
static void add_doubts(struct text *line, const struct profile *p)
{
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++) {
        enum metric_effect effect = metric_info(m)->effect;
        if ((effect == EFFECT_LOSS || effect == EFFECT_DOUBT) && profile_number(p, m) > 0)
            add_doubt(line, p, m);
    }
}

/* Appends what casts doubt on the samples as a whole. */
static void add_biases(struct text *line, const struct profile *p)
{
    const char *check = profile_metadata_text(p, "self_check");
    const char *cpu = profile_metadata_text(p, "cpu_check");
    double ticks = profile_number(p, METRIC_TICKS);
    double rate_hz = profile_number(p, METRIC_RATE_HZ);
    double delay_ns = ticks > 0 ? profile_number(p, METRIC_TICK_DELAY_NS) / ticks : 0;
    if (*check)
        text_addf(line, "%s%s", line->len ? ", " : "", check);
    if (*cpu)
        text_addf(line, "%s%s", line->len ? ", " : "", cpu);
    if (delay_ns > most_delay_ns && rate_hz > 0 &&
        delay_ns > most_delay_share * (double)NS_PER_S / rate_hz)
        text_addf(line, "%ssamples taken %.1f ms late on average", line->len ? ", " : "",
                  delay_ns / NS_PER_MS);
}

/* The most frequent of the reasons. */
static const char *why_lowered(const struct profile *p)
{
    double quota = profile_number(p, METRIC_RATE_LOWERED_FOR_QUOTA);
    double cpu = profile_number(p, METRIC_RATE_LOWERED_FOR_CPU);
    double holds = profile_number(p, METRIC_RATE_LOWERED) - quota - cpu;
    if (holds >= quota && holds >= cpu)
        return "holds";
    return quota >= cpu ? "its CPU quota" : "its CPU time";
}

/* Appends what was given up and leaves all sums as they are. */
static void add_notes(struct text *line, const struct profile *p)
{
    const char *coarsened = profile_metadata_text(p, "coarsened");
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++) {
        const struct metric_info *info = metric_info(m);
        if (info->effect != EFFECT_NOTE || profile_number(p, m) <= 0)
            continue;
        metric_add_note(line, m, profile_number(p, info->shown ? info->shown : m));
        if (m == METRIC_RATE_LOWERED)
            text_addf(line, " (%s)", why_lowered(p));
        text_add(line, ", ");
    }
    if (*coarsened)
        text_addf(line, "file %s, ", coarsened);
}

/* Did threads wait for CPUs for a twentieth of the time that they were on them, or longer? */
static bool cpus_are_short(const struct profile *p)
{
    const double least = 0.05;
    int64_t cpu_ns = 0;
    int64_t wait_ns = 0;
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *t = profile_see_thread(p, (thread_id){i});
        cpu_ns += t->counts.ns[COUNTED_CPU];
        wait_ns += t->counts.ns[COUNTED_RUNQUEUE];
    }
    return wait_ns > 0 && (double)wait_ns >= least * (double)cpu_ns;
}

/* Why the sampler lacks a CPU, where that may be why the rate is lower. */
static void add_priority(struct text *line, const struct profile *p)
{
    const char *apart = profile_metadata_text(p, "priority_apart");
    if (profile_number(p, METRIC_RATE_LOWERED) <= 0 || !cpus_are_short(p))
        return;
    if (*apart && profile_number(p, METRIC_SAMPLER_NICE) < 0)
        text_addf(line, "priority has no effect here (%s), ", apart);
    if (str_eq(profile_metadata_text(p, "priority"), "given up"))
        text_add(line, "priority given up (wallspy's own CPU time), ");
}

/* "99% of the time seen": rounded down, with an allowance for differences between clocks. */
static void add_seen(struct text *out, double seen)
{
    text_addf(out, "%s%d%% of the time seen", seen < least_seen ? "only " : "",
              (int)(100 * seen + 0.001));
}

bool quality_text(const struct profile *p, struct text *out)
{
    struct text line = {0};
    double seen = profile_number(p, METRIC_SEEN_SHARE);
    add_doubts(&line, p);
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
    add_priority(out, p);
    text_addf(out, "overhead %.2f%% (p99 %.2f ms)", 100 * profile_number(p, METRIC_OVERHEAD),
              profile_number(p, METRIC_HELD_P99_NS) / NS_PER_MS);
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

static void note_check(struct profile *p, const struct thread_summaries *s)
{
    static const char *const states[COUNTED_KINDS] = {
        [COUNTED_CPU] = "running",
        [COUNTED_RUNQUEUE] = "waiting for a CPU",
        [COUNTED_OFF_CPU] = "off the CPU",
    };
    double stolen_s = profile_number(p, METRIC_STOLEN_S);
    struct disagreement d = coverage_check(s, (int64_t)(stolen_s * NS_PER_S));
    struct text text = {0};
    if (!d.thread) {
        profile_forget_metadatum(p, "self_check");
        return;
    }
    text_add_tame(&text, d.thread->label, strlen(d.thread->label));
    text_addf(&text, " sampled as %s %.0f%% of the time; the kernel counted %.0f%%",
              states[d.state], 100 * d.sampled, 100 * d.counted);
    profile_set_text(p, "self_check", text.s);
    text_release(&text);
}

/* The CPU time of the recorded processes by their own clocks, and the sum over the threads shown.
 * Threads that ended before they were met are in the first alone. */
struct cpu_sums {
    int64_t by_clock_ns, by_threads_ns;
};

static struct cpu_sums sum_cpu(const struct profile *p)
{
    struct cpu_sums sums = {0};
    for (uint32_t i = 1; i <= profile_process_count(p); i++) {
        const struct profile_usage *u = &profile_see_process(p, (process_id){i})->usage;
        sums.by_clock_ns += u->user_ns + u->system_ns;
    }
    for (uint32_t i = 1; i <= profile_thread_count(p); i++)
        sums.by_threads_ns += profile_see_thread(p, (thread_id){i})->counts.ns[COUNTED_CPU];
    return sums;
}

/* Of less than a tenth, or a hundredth of a CPU, the clocks' ticks and the looks' times may be the
 * cause. */
static void note_cpu(struct profile *p)
{
    static const double least_part = 0.1, least_cpus = 0.01, least_s = 0.1;
    struct cpu_sums sums = sum_cpu(p);
    double clock_s = (double)sums.by_clock_ns / NS_PER_S;
    double told_s = (double)sums.by_threads_ns / NS_PER_S;
    double lost_s = clock_s - told_s;
    double all_s = (double)profile_end_ns(p) / NS_PER_S;
    profile_forget_metadatum(p, "cpu_check");
    if (*profile_metadata_text(p, "threads_asked") || lost_s < least_part * clock_s ||
        lost_s < least_cpus * all_s || lost_s < least_s)
        return;
    struct text text = {0};
    text_addf(&text, "%.2f of %.2f s of CPU time in threads not sampled", lost_s, clock_s);
    profile_set_text(p, "cpu_check", text.s);
    text_release(&text);
}

void quality_measure(struct profile *p, const struct view_options *view)
{
    struct view *v = view_new(p, view);
    struct thread_summaries summaries;
    thread_summaries_init(&summaries, p, v);
    if (profile_number(p, METRIC_STACKS_LEFT_OUT) > 0) { /* --gil: the rest is left out */
        profile_set_number(p, METRIC_SEEN_SHARE, 1);
        profile_forget_metadatum(p, "self_check");
        profile_forget_metadatum(p, "cpu_check");
    } else {
        note_cpu(p);
        profile_set_number(p, METRIC_SEEN_SHARE, coverage_of_all(&summaries));
        note_check(p, &summaries);
    }
    thread_summaries_release(&summaries);
    view_free(v);
}
