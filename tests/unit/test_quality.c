#include "cli/quality.h"

#include <string.h>

#include "base/clock.h"
#include "sampler/counters.h"
#include "summary/finding.h"
#include "target/host.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static struct text said;
static const struct view_options view;

/* The quality line of B after END_MS; *RET_OK: what quality_text() returns. */
static const char *quality(struct profile_builder *b, int64_t end_ms, bool *ret_ok)
{
    profile_end(b->p, end_ms * NS_PER_MS);
    profile_set_number(b->p, "rate_hz", 100);
    quality_measure(b->p, &view);
    text_clear(&said);
    *ret_ok = quality_text(b->p, &said);
    return said.s;
}

static void assert_says(const char *line, const char *words)
{
    ck_assert_msg(strstr(line, words) != NULL, "%s: not in %s", words, line);
}

START_TEST(whole_recording_is_ok)
{
    struct profile_builder b = builder_start(10, "app");
    bool ok;
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    ck_assert_str_eq(quality(&b, 1000, &ok),
                     "quality ok: 100% of the time seen, all stacks merged, "
                     "overhead 0.00% (p99 0.00 ms)");
    ck_assert(ok);
    profile_free(b.p);
}
END_TEST

/* Idle threads neither hide what was missed of the one that ran, nor count. */
START_TEST(missed_time_is_of_threads_that_ran)
{
    struct profile_builder b = builder_start(10, "app");
    bool ok;
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "main!app", 700, 700);
    builder_missed(&b, main, 300);
    profile_get_thread(b.p, main)->counts.ns[COUNTED_CPU] = 1000 * NS_PER_MS;
    for (pid_t tid = 20; tid < 60; tid++)
        builder_run(&b, builder_thread(&b, tid, NULL), "poll [blocked]", 1000, 0);
    const char *line = quality(&b, 1000, &ok);
    ck_assert(str_starts(line, "quality: only 70% of the time seen, "));
    ck_assert(!ok);
    struct text table = {0};
    finding_write(b.p, &view, 79, &table);
    assert_says(table.s, "(70% seen) 70% main");
    text_release(&table);
    profile_free(b.p);
}
END_TEST

START_TEST(doubts_are_parts_of_samples_and_stacks)
{
    struct profile_builder b = builder_start(10, "app");
    bool ok;
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    profile_set_number(b.p, "ticks", 293);
    profile_set_number(b.p, "late_ticks", 7);
    profile_set_number(b.p, "stacks_made", 290);
    profile_set_number(b.p, "unwind_no_cfi", 1);
    profile_set_number(b.p, "frames_guessed", 1);
    const char *line = quality(&b, 1000, &ok);
    assert_says(line, "7 of 300 samples late, ");
    assert_says(line, "1 of 290 stacks cut where code has no unwind information, ");
    assert_says(line, "1 frame guessed; ");
    ck_assert(!ok);
    profile_free(b.p);
}
END_TEST

static void assert_doubted(const char *key)
{
    struct profile_builder b = builder_start(10, "app");
    bool ok;
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    profile_set_number(b.p, key, 12345);
    (void)quality(&b, 1000, &ok);
    ck_assert_msg(!ok && strstr(said.s, "12345 "), "%s: %s", key, said.s);
    profile_free(b.p);
}

/* What the sampler counts that is no loss, or is one that another counter tells. */
static bool is_no_loss(enum sampler_counter counter)
{
    static const enum sampler_counter none[] = {COUNT_TICKS,
                                                COUNT_TICK_DELAY_NS,
                                                COUNT_REPEATS,
                                                COUNT_SLEEPERS_PROVEN,
                                                COUNT_NO_STOP_CAPTURES,
                                                COUNT_NO_STOP_REJECTS,
                                                COUNT_STOP_REQUESTS,
                                                COUNT_STOPS,
                                                COUNT_PENDING_TICKS,
                                                COUNT_REPAIRED_CALLS,
                                                COUNT_RENEWED_CALLS,
                                                COUNT_UNDONE_CALLS,
                                                COUNT_SUPERVISED,
                                                COUNT_SLOW_SYSCALL_READS,
                                                COUNT_REGISTERS_WANTED,
                                                COUNT_RATE_LOWERED,
                                                COUNT_FDS_EVICTED,
                                                COUNT_RATE_LOWERED_FOR_QUOTA,
                                                COUNT_READS,
                                                COUNT_HELD_NS,
                                                COUNT_HELD_MAX_NS,
                                                COUNT_REPAIR_MAX_NS,
                                                COUNT_STACKS_UNKNOWN};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (none[i] == counter)
            return true;
    return false;
}

/* No counter of a loss may be left out of the line. */
START_TEST(every_loss_is_said)
{
    static const char *const others[] = {"samples_not_held",    "threads_without_a_sample",
                                         "unwind_stack_cut",    "unwind_needs_registers",
                                         "unwind_no_cfi",       "unwind_bad_memory",
                                         "unwind_no_progress",  "unwind_too_deep",
                                         "frames_guessed",      "merge_native_cut",
                                         "merge_mismatch",      "python_walks_cut",
                                         "python_reads_failed", "unknown_code_objects",
                                         "images_cut",          "mappings_cut",
                                         "names_refused",       "frames_refused",
                                         "stacks_refused",      "runs_refused"};
    for (int i = 0; i < SAMPLER_COUNTER_COUNT; i++)
        if (!is_no_loss((enum sampler_counter)i))
            assert_doubted(sampler_counter_name((enum sampler_counter)i));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_doubted(others[i]);
}
END_TEST

/* A program in lockstep with the sampler, say: found running at a quarter of the ticks. */
START_TEST(samples_that_contradict_the_kernel_are_said)
{
    struct profile_builder b = builder_start(10, "app");
    bool ok;
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "work!app", 2500, 2500);
    builder_run(&b, main, "nap!app > poll [blocked]", 7500, 0);
    profile_get_thread(b.p, main)->counts =
        (struct counts){.ns = {[COUNTED_CPU] = INT64_C(9700) * NS_PER_MS,
                               [COUNTED_OFF_CPU] = INT64_C(300) * NS_PER_MS}};
    const char *line = quality(&b, 10000, &ok);
    assert_says(line, "main 10 found running in 25% of the samples, by the kernel's count it was "
                      "so for 97%");
    ck_assert(!ok);
    /* A hypervisor that took as much explains it. */
    profile_set_number(b.p, "stolen_s", 9);
    line = quality(&b, 10000, &ok);
    ck_assert(ok);
    profile_free(b.p);
}
END_TEST

START_TEST(chance_is_no_contradiction)
{
    struct profile_builder b = builder_start(10, "app");
    bool ok;
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "work!app", 540, 540);
    builder_run(&b, main, "nap!app > poll [blocked]", 460, 0);
    profile_get_thread(b.p, main)->counts =
        (struct counts){.ns = {[COUNTED_CPU] = INT64_C(500) * NS_PER_MS,
                               [COUNTED_OFF_CPU] = INT64_C(500) * NS_PER_MS}};
    (void)quality(&b, 1000, &ok);
    ck_assert(ok);
    profile_free(b.p);
}
END_TEST

START_TEST(late_samples_are_said)
{
    struct profile_builder b = builder_start(10, "app");
    bool ok;
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    profile_set_number(b.p, "ticks", 100);
    profile_set_number(b.p, "tick_delay_ns", 100 * 3.1 * NS_PER_MS);
    assert_says(quality(&b, 1000, &ok), "samples taken 3.1 ms late on average; ");
    profile_free(b.p);
}
END_TEST

START_TEST(stolen_time_is_the_eighth_number)
{
    static const char good[] = "cpu  10 20 30 40 50 60 70 250 0 0\ncpu0 1 2";
    static const char few[] = "cpu  10 20 30";
    ck_assert_int_eq(host_stolen_parse(good, strlen(good), 100), INT64_C(2500) * NS_PER_MS);
    ck_assert_int_eq(host_stolen_parse(few, strlen(few), 100), 0);
    ck_assert_int_eq(host_stolen_parse("", 0, 100), 0);
    ck_assert_int_eq(host_stolen_parse(good, strlen(good), 0), 0);
}
END_TEST

CHECK_MAIN("quality", 20, whole_recording_is_ok, missed_time_is_of_threads_that_ran,
           doubts_are_parts_of_samples_and_stacks, every_loss_is_said,
           samples_that_contradict_the_kernel_are_said, chance_is_no_contradiction,
           late_samples_are_said, stolen_time_is_the_eighth_number)
