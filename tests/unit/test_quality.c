#include "cli/quality.h"

#include <string.h>

#include "base/clock.h"
#include "cli/answer.h"
#include "profile/metric_info.h"
#include "summary/coverage.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static struct text said;
static const struct view_options view;

/* The quality line of B, which has ended; *RET_OK: what quality_text() returns. */
static const char *line_of(struct profile_builder *b, bool *ret_ok)
{
    quality_measure(b->p, &view);
    text_clear(&said);
    *ret_ok = quality_text(b->p, &said);
    return said.s;
}

/* The same after END_MS. */
static const char *quality(struct profile_builder *b, int64_t end_ms, bool *ret_ok)
{
    profile_end(b->p, end_ms * NS_PER_MS);
    profile_set_number(b->p, METRIC_RATE_HZ, 100);
    return line_of(b, ret_ok);
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

START_TEST(names_that_failed_have_their_file)
{
    struct profile_builder b = builder_start(10, "app");
    bool ok;
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    profile_set_number(b.p, METRIC_FRAMES_UNNAMED, 3);
    profile_set_text(b.p, "naming_failed", "libx.so (Segmentation fault)");
    assert_says(quality(&b, 1000, &ok), "3 frames without a name because naming failed: libx.so "
                                        "(Segmentation fault); overhead");
    ck_assert(!ok);
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
    struct groups groups;
    struct table table;
    groups_init(&groups, b.p, &view);
    table_init(&table, &groups, ANSWER_MAX_ROWS);
    ck_assert_int_eq(table.rows[0].seen_ns, 700 * NS_PER_MS);
    text_clear(&said);
    answer_write(&table, 79, &said);
    assert_says(said.s, "(70% seen)");
    table_release(&table);
    groups_release(&groups);
    profile_free(b.p);
}
END_TEST

START_TEST(while_it_is_recorded_the_last_part_is_told)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "main!app", 700, 700);
    builder_missed(&b, main, 300);
    builder_run(&b, main, "main!app", 1000, 1000);
    thread_id idle = builder_thread(&b, 20, NULL);
    builder_run(&b, idle, "poll [blocked]", 500, 0);
    builder_missed(&b, idle, 1500);
    ck_assert_double_eq_tol(coverage_so_far(b.p, INT64_MAX), 0.85, 1e-9);
    ck_assert_double_eq_tol(coverage_so_far(b.p, 1200 * NS_PER_MS), 1000 / 1200.0, 1e-9);
    ck_assert_double_eq_tol(coverage_so_far(b.p, 600 * NS_PER_MS), 1, 1e-9);
    profile_free(b.p);
}
END_TEST

/* Due to run all the time, without a CPU: what was missed of it counts. */
START_TEST(missed_time_is_of_threads_that_were_due_to_run)
{
    struct profile_builder b = builder_start(10, "app");
    bool ok;
    thread_id main = builder_thread(&b, 10, NULL);
    builder_runnable(&b, main, "main!app", 800);
    builder_missed(&b, main, 200);
    const char *line = quality(&b, 1000, &ok);
    assert_says(line, "quality: only 80% of the time seen, ");
    ck_assert(!ok);
    profile_free(b.p);
}
END_TEST

START_TEST(doubts_are_parts_of_samples_and_stacks)
{
    struct profile_builder b = builder_start(10, "app");
    bool ok;
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    profile_set_number(b.p, METRIC_TICKS, 293);
    profile_set_number(b.p, METRIC_LATE_TICKS, 7);
    profile_set_number(b.p, METRIC_STACKS_MADE, 290);
    profile_set_number(b.p, METRIC_UNWIND_NO_CFI, 1);
    profile_set_number(b.p, METRIC_FRAMES_GUESSED, 1);
    const char *line = quality(&b, 1000, &ok);
    assert_says(line, "7 of 300 ticks skipped, ");
    assert_says(line, "1 of 290 stacks cut where code has no unwind information, ");
    assert_says(line, "1 frame guessed; ");
    ck_assert(!ok);
    profile_free(b.p);
}
END_TEST

/* No counter of a loss may be left out of the line. */
START_TEST(every_loss_is_said)
{
    static const enum metric losses[] = {
        METRIC_LATE_TICKS,
        METRIC_CUT_SHORT,
        METRIC_RING_FULL,
        METRIC_NO_STOP_GIVEN_UP,
        METRIC_REFUSED,
        METRIC_BACKED_OFF,
        METRIC_EXECVE_WAITS,
        METRIC_MEMORY_LOCKED,
        METRIC_SYSCALL_READS_SKIPPED,
        METRIC_SAMPLES_NOT_HELD,
        METRIC_THREADS_NOT_MET,
        METRIC_DESCENDANTS_REFUSED,
        METRIC_THREADS_WITHOUT_A_SAMPLE,
        METRIC_STUCK,
        METRIC_UNWIND_STACK_CUT,
        METRIC_UNWIND_NEEDS_REGISTERS,
        METRIC_UNWIND_NO_CFI,
        METRIC_UNWIND_BAD_MEMORY,
        METRIC_UNWIND_NO_PROGRESS,
        METRIC_UNWIND_TOO_DEEP,
        METRIC_FRAMES_GUESSED,
        METRIC_MERGE_NATIVE_CUT,
        METRIC_MERGE_MISMATCH,
        METRIC_PYTHON_WALKS_CUT,
        METRIC_PYTHON_READS_FAILED,
        METRIC_UNKNOWN_CODE_OBJECTS,
        METRIC_UNREADABLE,
        METRIC_IMAGES_CUT,
        METRIC_MAPPINGS_CUT,
        METRIC_FRAMES_UNNAMED,
        METRIC_JIT_FRAMES_UNQUEUED,
        METRIC_PERTURBED_CALLS,
        METRIC_CUT_CALLS,
        METRIC_SIGNALS_IN_HOLDS,
        METRIC_SUPERVISED_CALLS,
        METRIC_NAMES_REFUSED,
        METRIC_FRAMES_REFUSED,
        METRIC_STACKS_REFUSED,
        METRIC_WAITS_REFUSED,
        METRIC_RUNS_REFUSED,
    };
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        struct profile_builder b = builder_start(10, "app");
        bool ok;
        builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
        (void)quality(&b, 1000, &ok);
        ck_assert(ok);
        profile_set_number(b.p, losses[i], 12345);
        const struct metric_info *info = metric_info(losses[i]);
        assert_says(line_of(&b, &ok), info->noun ? "12345 " : info->words);
        ck_assert_msg(!ok, "%s", metric_info(losses[i])->key);
        profile_free(b.p);
    }
}
END_TEST

START_TEST(what_was_given_up_leaves_the_line_ok)
{
    struct profile_builder b = builder_start(10, "app");
    bool ok;
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    (void)quality(&b, 1000, &ok);
    profile_set_number(b.p, METRIC_RATE_LOWERED, 3);
    profile_set_number(b.p, METRIC_THROTTLED_S, 1.5);
    profile_set_number(b.p, METRIC_TIME_STEP_S, 1 << 24);
    profile_set_number(b.p, METRIC_THREADS_FOLDED, 70);
    profile_set_number(b.p, METRIC_STACKS_SHORTENED, 4);
    profile_set_text(b.p, "coarsened", "aggregated");
    ck_assert_str_eq(line_of(&b, &ok),
                     "quality ok: 100% of the time seen, all stacks merged, "
                     "rate lowered to 100.0 Hz (holds), wallspy throttled for 1.50 s by its "
                     "cgroup's CPU quota, order in time kept in steps of 194 days (--max-size), "
                     "70 ended threads merged by name (--max-size), "
                     "4 stacks shortened (too deep for the file), file aggregated, "
                     "overhead 0.00% (p99 0.00 ms)");
    ck_assert(ok);
    profile_free(b.p);
}
END_TEST

START_TEST(the_rate_is_lowered_for_a_reason)
{
    struct profile_builder b = builder_start(10, "app");
    bool ok;
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    (void)quality(&b, 1000, &ok);
    profile_set_number(b.p, METRIC_RATE_LOWERED, 5);
    profile_set_number(b.p, METRIC_RATE_LOWERED_FOR_CPU, 2);
    assert_says(line_of(&b, &ok), "rate lowered to 100.0 Hz (holds), ");
    profile_set_number(b.p, METRIC_RATE_LOWERED_FOR_CPU, 3);
    assert_says(line_of(&b, &ok), "rate lowered to 100.0 Hz (its CPU time), ");
    profile_set_number(b.p, METRIC_RATE_LOWERED_FOR_QUOTA, 4);
    assert_says(line_of(&b, &ok), "rate lowered to 100.0 Hz (its CPU quota), ");
    profile_free(b.p);
}
END_TEST

/* Only where threads wait for CPUs, and the rate is lower for it. */
START_TEST(a_priority_without_effect_is_told_where_it_matters)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id thread = builder_thread(&b, 10, NULL);
    static const char told[] = "priority has no effect here (another cgroup), overhead";
    bool ok;
    builder_run(&b, thread, "main!app", 1000, 1000);
    (void)quality(&b, 1000, &ok);
    profile_set_text(b.p, "priority_apart", "another cgroup");
    profile_set_number(b.p, METRIC_SAMPLER_NICE, -20);
    profile_get_thread(b.p, thread)->counts.ns[COUNTED_CPU] = 1000;
    profile_get_thread(b.p, thread)->counts.ns[COUNTED_RUNQUEUE] = 500;
    ck_assert_ptr_null(strstr(line_of(&b, &ok), "priority"));
    profile_set_number(b.p, METRIC_RATE_LOWERED, 3);
    assert_says(line_of(&b, &ok), told);
    profile_set_text(b.p, "priority", "given up");
    assert_says(line_of(&b, &ok), "priority given up (wallspy's own CPU time), overhead");
    profile_get_thread(b.p, thread)->counts.ns[COUNTED_RUNQUEUE] = 10;
    ck_assert_ptr_null(strstr(line_of(&b, &ok), "priority"));
    ck_assert(ok);
    profile_free(b.p);
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
    assert_says(line, "main 10 sampled as running 25% of the time; the kernel counted 97%");
    ck_assert(!ok);
    /* A hypervisor that took as much explains it. */
    profile_set_number(b.p, METRIC_STOLEN_S, 9);
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
    profile_set_number(b.p, METRIC_TICKS, 100);
    profile_set_number(b.p, METRIC_TICK_DELAY_NS, 100 * 3.1 * NS_PER_MS);
    assert_says(quality(&b, 1000, &ok), "samples taken 3.1 ms late on average; ");
    profile_free(b.p);
}
END_TEST

START_TEST(cpu_time_of_threads_that_were_not_met_is_said)
{
    struct profile_builder b = builder_start(10, "app");
    struct profile_usage *u = &profile_get_process(b.p, b.process)->usage;
    bool ok;
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    profile_get_thread(b.p, (thread_id){1})->counts.ns[COUNTED_CPU] = INT64_C(800) * NS_PER_MS;
    *u = (struct profile_usage){.over_ns = NS_PER_S, .user_ns = INT64_C(850) * NS_PER_MS};
    ck_assert_ptr_null(strstr(quality(&b, 1000, &ok), "CPU time"));
    u->system_ns = INT64_C(150) * NS_PER_MS;
    assert_says(quality(&b, 1000, &ok), "0.20 of 1.00 s of CPU time in threads not sampled");
    ck_assert(!ok);
    profile_set_text(b.p, "threads_asked", "main"); /* of all others it is left out */
    ck_assert_ptr_null(strstr(quality(&b, 1000, &ok), "CPU time"));
    profile_free(b.p);
}
END_TEST

CHECK_MAIN("quality", 20, whole_recording_is_ok, names_that_failed_have_their_file,
           missed_time_is_of_threads_that_ran, missed_time_is_of_threads_that_were_due_to_run,
           doubts_are_parts_of_samples_and_stacks, every_loss_is_said,
           what_was_given_up_leaves_the_line_ok, the_rate_is_lowered_for_a_reason,
           a_priority_without_effect_is_told_where_it_matters,
           while_it_is_recorded_the_last_part_is_told, samples_that_contradict_the_kernel_are_said,
           chance_is_no_contradiction, late_samples_are_said,
           cpu_time_of_threads_that_were_not_met_is_said)
