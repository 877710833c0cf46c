/* A fault of what explains costs the explanation, not the recording. */
#include "cli/explanation.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static struct profile_builder b;
static struct explanation e;

enum { ALIKE = 3 };

/* Of two processes, in two views: all, and the second one. */
static void explain(const char *fault)
{
    static const bool second[] = {false, false, true};
    static const struct view_options views[] = {{0}, {.processes = second}};
    b = builder_start(10, "first");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app > futex [blocked]", 4000, 0);
    for (pid_t tid = 0; tid < ALIKE; tid++)
        builder_run(&b, builder_thread(&b, 11 + tid, "worker"), "main!app > spin!app", 4000, 4000);
    builder_process(&b, 20, "second", NULL);
    builder_run(&b, builder_thread(&b, 20, NULL), "main!app > work!app", 4000, 4000);
    profile_end(b.p, INT64_C(4000) * NS_PER_MS);
    const struct explanation_request request = {.p = b.p, .views = views, .n_views = 2};
    ck_assert_int_eq(fault ? setenv("WALLSPY_EXPLAIN", fault, 1) : unsetenv("WALLSPY_EXPLAIN"), 0);
    explanation_make(&e, &request);
}

static char *written(const char *format)
{
    char *ret = NULL;
    size_t len = 0;
    struct export_notes notes;
    const struct view_options options = {0};
    FILE *out = open_memstream(&ret, &len);
    ck_assert_int_eq(
        exporter_write(exporter_by_name(format), b.p, &options, &e.findings[0], 0, out, &notes), 0);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert(str_ends(ret, "}\n") || str_ends(ret, "</svg>\n")); /* whole */
    return ret;
}

static bool names_workers(const char *line)
{
    const char *found = strstr(line, "worker");
    return found && found < line + strcspn(line, "\n");
}

/* How often the flame graph names the workers. */
static int groups_drawn(void)
{
    int n = 0;
    char *file = written("flamegraph");
    for (const char *at = file; (at = strstr(at, "<title>")); at++)
        n += names_workers(at);
    free(file);
    return n;
}

static void teardown(void)
{
    explanation_release(&e);
    profile_free(b.p);
}

START_TEST(findings_and_answer_come_from_a_child)
{
    explain(NULL);
    char *file = written("speedscope");
    ck_assert_int_eq(groups_drawn(), 1);
    ck_assert_ptr_null(e.why);
    ck_assert_ptr_nonnull(strstr(e.findings[0].json, "first"));
    ck_assert_ptr_null(strstr(e.findings[1].json, "first"));
    ck_assert_ptr_nonnull(strstr(e.answer, "where its time goes"));
    ck_assert_ptr_nonnull(strstr(file, "\"findings\":[\n{\"rule\":\""));
    ck_assert_ptr_null(strstr(file, "no_findings"));
    free(file);
    teardown();
}
END_TEST

START_TEST(a_crash_or_a_hang_costs_the_explanation_only)
{
    static const char *const cases[][2] = {
        {"crash", "\"findings\":null,\"no_findings\":\"Aborted\""},
        {"hang", "\"findings\":null,\"no_findings\":\"it took too long\""},
    };
    for (size_t i = 0; i < 2; i++) {
        explain(cases[i][0]);
        char *file = written("speedscope");
        ck_assert_ptr_nonnull(e.why);
        ck_assert_str_eq(e.answer, "");
        ck_assert_int_eq(groups_drawn(), ALIKE);
        ck_assert_ptr_nonnull(strstr(file, cases[i][1]));
        ck_assert_ptr_nonnull(strstr(file, "\"work\""));
        free(file);
        teardown();
    }
}
END_TEST

static bool yes(void)
{
    return true;
}

/* The files are not written then either: nothing is said of it. */
START_TEST(who_discards_the_recording_waits_for_nothing)
{
    static const struct view_options views[1];
    b = builder_start(10, "app");
    profile_end(b.p, NS_PER_S);
    const struct explanation_request request = {
        .p = b.p, .views = views, .n_views = 1, .cancelled = yes};
    ck_assert_int_eq(setenv("WALLSPY_EXPLAIN", "hang", 1), 0);
    int64_t begun_ns = clock_now_ns();
    explanation_make(&e, &request);
    ck_assert_int_lt(clock_now_ns() - begun_ns, 20LL * NS_PER_S); /* it hangs for a minute */
    ck_assert_str_eq(e.answer, "");
    teardown();
}
END_TEST

CHECK_MAIN("explanation", 20, findings_and_answer_come_from_a_child,
           a_crash_or_a_hang_costs_the_explanation_only,
           who_discards_the_recording_waits_for_nothing)
