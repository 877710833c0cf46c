/* recording/views.sql: what the views of a recording say, asked as a user would.  That each has an
 * answer is shown by situations/recording_views.py. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recording/recording_file.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

enum { ANSWER_BYTES = 200 };
static const struct wait_side nobody;

/* The first column of SQL's first row, asked of B's recording. */
static const char *ask(const struct profile_builder *b, const char *sql)
{
    static char answer[ANSWER_BYTES];
    char path[] = "/tmp/wallspy-test-views.XXXXXX";
    struct err err = {0};
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    FILE *file = fdopen(mkstemp(path), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_msg(recording_file_write(b->p, NULL, file, &err) == 0, "%s", err.text);
    (void)fclose(file);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    (void)unlink(path);
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    bool row = sqlite3_step(s) == SQLITE_ROW;
    const char *text = row ? (const char *)sqlite3_column_text(s, 0) : NULL;
    (void)snprintf(answer, sizeof answer, "%s", text ? text : "");
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(db);
    return answer;
}

static const char stalls[] = "SELECT group_concat(at_s || ' ' || ms || ' ' || coalesce(function, "
                             "'-'), ', ') FROM loop_stalls";

static void turn(struct profile_builder *b, thread_id loop, const char *stack, int64_t ms)
{
    builder_polls(b, loop, "main!app > poll!app", &nobody, 10);
    builder_run(b, loop, stack, ms, ms);
}

START_TEST(a_loop_that_does_not_come_back_has_stalled)
{
    struct profile_builder b = builder_start(100, "app");
    thread_id loop = builder_thread(&b, 100, NULL);
    turn(&b, loop, "main!app > slow!app", 40);
    turn(&b, loop, "main!app > slow!app", 60);
    turn(&b, loop, "main!app > slow!app", 40);
    builder_polls(&b, loop, "main!app > poll!app", &nobody, 10);
    profile_end(b.p, profile_see_thread(b.p, loop)->end_ns);
    ck_assert_str_eq(ask(&b, stalls), "0.06 60.0 slow");
    profile_free(b.p);
}
END_TEST

/* In a longer time without a sample it may well have come back. */
START_TEST(time_without_a_sample_is_no_stall)
{
    struct profile_builder b = builder_start(100, "app");
    thread_id loop = builder_thread(&b, 100, NULL);
    turn(&b, loop, "main!app > some!app", 40);
    builder_missed(&b, loop, 100);
    builder_run(&b, loop, "main!app > some!app", 40, 40);
    turn(&b, loop, "main!app > slow!app", 40);
    builder_missed(&b, loop, 20);
    builder_polls(&b, loop, "main!app > poll!app", &nobody, 10);
    profile_end(b.p, profile_see_thread(b.p, loop)->end_ns);
    ck_assert_str_eq(ask(&b, stalls), "0.2 60.0 slow");
    profile_free(b.p);
}
END_TEST

/* The numbers of runs are in the order of time only where they keep that. */
START_TEST(time_in_no_order_has_no_stalls)
{
    enum { LIMIT = 1 << 18, TURNS = 4000, ENDED = 200, CALLEES = 7 };
    struct profile_builder b = builder_start_within(LIMIT, 100, "app");
    for (int i = 0; i < ENDED; i++) {
        thread_id ended = builder_thread(&b, 1000 + i, "loop");
        turn(&b, ended, "main!app > f!app", 40);
        profile_get_thread(b.p, ended)->ended = true;
        profile_end_thread(b.p, ended, 50000000);
    }
    thread_id loop = builder_thread(&b, 100, NULL);
    turn(&b, loop, "main!app > slow!app", 60);
    for (int i = 0; i < TURNS; i++) {
        char stack[] = "main!app > f0!app";
        stack[strlen("main!app > f")] = (char)('0' + i % CALLEES);
        turn(&b, loop, stack, 40);
    }
    turn(&b, loop, "main!app > slow!app", 60);
    turn(&b, loop, "main!app > f0!app", 40);
    profile_end(b.p, TURNS * INT64_C(50000000) + 190000000);
    ck_assert_int_gt(profile_time_step_ns(b.p), 0);
    ck_assert(profile_number(b.p, METRIC_THREADS_FOLDED) > 0);
    ck_assert_str_eq(ask(&b, stalls), "200.08 60.0 slow");
    profile_free(b.p);
}
END_TEST

START_TEST(a_stopped_thread_is_blocked_in_no_call)
{
    struct profile_builder b = builder_start(100, "app");
    thread_id reader = builder_thread(&b, 100, NULL);
    builder_run(&b, reader, "main!app > load!app > read /a [blocked]", 20, 0);
    builder_stopped(&b, reader, "main!app > load!app", "/a", 5000);
    profile_end(b.p, profile_see_thread(b.p, reader)->end_ns);
    ck_assert_str_eq(ask(&b, "SELECT group_concat(blocked_s || ' ' || call) FROM system_calls"),
                     "0.02 read");
    profile_free(b.p);
}
END_TEST

CHECK_MAIN("views", 20, a_stopped_thread_is_blocked_in_no_call,
           a_loop_that_does_not_come_back_has_stalled, time_without_a_sample_is_no_stall,
           time_in_no_order_has_no_stalls)
