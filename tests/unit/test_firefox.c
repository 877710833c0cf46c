/* A profile as the Firefox Profiler's, in pieces.  The whole is read by the page's own profiler-cli
 * (docs/formats.md). */
#include <string.h>

#include "base/clock.h"
#include "exporter/exporter.h"
#include "profile/moments.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static char *written;
static size_t written_len;
static struct export_notes notes;

static void write_profile(const struct profile *p, uint64_t max_bytes)
{
    const struct view_options options = {0};
    free(written);
    FILE *out = open_memstream(&written, &written_len);
    ck_assert_int_eq(exporter_write(exporter_by_path("a.firefox.json.gz"), p, &options, NULL,
                                    max_bytes, out, &notes),
                     0);
    (void)fclose(out);
    size_t kept = 0;
    for (size_t i = 0; i < written_len; i++)
        if (written[i] != '\n')
            written[kept++] = written[i];
    written[kept] = '\0';
}

static void assert_has(const char *expected)
{
    ck_assert_msg(strstr(written, expected) != NULL, "not there: %s\n%s", expected, written);
}

START_TEST(samples_lie_on_one_time_axis)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "step@/src/train.py:7:9 > run!libmge.so", 20, 20);
    builder_run(&b, main, "step@/src/train.py:7:9 > read pipe [blocked]", 30, 0);
    builder_run(&b, main, "step@/src/train.py:7:9 > run!libmge.so", 10, 10);
    profile_end(b.p, INT64_C(70) * NS_PER_MS);
    write_profile(b.p, 0);
    assert_has("\"name\":\"main 10\",\"isMainThread\":true,\"processName\":\"app\","
               "\"pid\":\"10\",\"tid\":10");
    assert_has("\"samples\":{\"stack\":[1,2,1,null],\"time\":[0,20,50,60],"
               "\"weight\":[20,30,10,10]");
    assert_has("\"threadCPUDelta\":[0,20000000,0,10000000]");
    assert_has("\"prefix\":[null,0,0]");
    assert_has("\"stringArray\":[\"step\",\"/src/train.py\",\"run\",\"[libmge.so]\","
               "\"read pipe [blocked]\",");
    assert_has("\"category\":[0,0,3]");
    profile_free(b.p);
}
END_TEST

START_TEST(a_wait_is_a_marker_with_whom_it_is_for)
{
    const struct wait_side side = {.thing = THING_PY_LOCK,
                                   .addr = 0x7f00,
                                   .blocker = {.kind = BLOCKER_THREAD, .pid = 10, .tid = 11}};
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "f@/a.py:1:2", 20, 20);
    builder_held(&b, main, "f@/a.py:1:3", &side, 40);
    profile_end(b.p, INT64_C(60) * NS_PER_MS);
    write_profile(b.p, 0);
    assert_has("\"markers\":{\"data\":[{\"type\":\"Wait\","
               "\"whom\":\"a lock, held by thread 11\"}]");
    assert_has("\"startTime\":[20],\"endTime\":[60],\"phase\":[1]");
    profile_free(b.p);
}
END_TEST

START_TEST(marks_and_pauses_are_markers_of_the_first_thread)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    thread_id other = builder_thread(&b, 11, "other");
    builder_run(&b, main, "run!app", 60, 60);
    builder_run(&b, other, "run!app", 10, 10);
    ck_assert(profile_add_mark(b.p, INT64_C(20) * NS_PER_MS, 0, "step 2"));
    profile_add_pause(b.p,
                      &(struct user_pause){INT64_C(30) * NS_PER_MS, 0, INT64_C(12) * NS_PER_S});
    profile_end(b.p, INT64_C(60) * NS_PER_MS);
    write_profile(b.p, 0);
    assert_has("\"markers\":{\"data\":[{\"type\":\"Mark\",\"text\":\"step 2\"},"
               "{\"type\":\"Pause\",\"text\":\"paused for 12 s\"}]");
    assert_has("\"startTime\":[20,30],\"endTime\":[null,null],\"phase\":[0,0]");
    assert_has("\"markers\":{\"data\":[],");
    profile_free(b.p);
}
END_TEST

START_TEST(steps_of_time_hold_the_limit)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    for (int i = 0; i < 2000; i++)
        builder_run(&b, main, i % 2 ? "run!app" : "run!app > step!app", 10, 10);
    profile_end(b.p, INT64_C(20000) * NS_PER_MS);
    write_profile(b.p, 0);
    ck_assert_str_eq(notes.coarsened, "");
    write_profile(b.p, 50000);
    ck_assert_str_eq(notes.coarsened, "in steps of 0.05 s");
    profile_free(b.p);
}
END_TEST

START_TEST(the_longest_suffix_says_the_format)
{
    ck_assert_str_eq(exporter_by_path("a.firefox.json")->name, "firefox");
    ck_assert_str_eq(exporter_by_path("firefox.json")->name, "speedscope");
    ck_assert_str_eq(exporter_by_path("a.json.gz")->name, "speedscope");
    ck_assert_ptr_null(exporter_by_path("a.firefox"));
}
END_TEST

CHECK_MAIN("firefox", 20, samples_lie_on_one_time_axis, a_wait_is_a_marker_with_whom_it_is_for,
           marks_and_pauses_are_markers_of_the_first_thread, steps_of_time_hold_the_limit,
           the_longest_suffix_says_the_format)
