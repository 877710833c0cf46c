/* cli/window.c: which part of a recording --from and --to mean. */
#include "cli/window.h"

#include <stdio.h>

#include "base/clock.h"
#include "profile/kept.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static const int64_t S = NS_PER_S;
/* 2023-11-14T23:59:30Z: midnight is in it. */
static const int64_t start_s = 1700006370;

static struct profile *p;

static void set_up(void)
{
    struct profile_builder b = builder_start(100, "python3");
    builder_run(&b, builder_thread(&b, 100, NULL), "main!app", 60000, 60000);
    profile_set_origin(b.p, &(struct profile_origin){start_s * S, 5});
    profile_end(b.p, 60 * S);
    p = b.p;
}

static void tear_down(void)
{
    p = profile_free(p);
}

static struct options asked(const char *from, const char *to)
{
    struct options o = {0};
    if (from)
        ck_assert_int_eq(parse_moment(from, &o.from), 0);
    if (to)
        ck_assert_int_eq(parse_moment(to, &o.to), 0);
    return o;
}

static void expect(const char *from, const char *to, int64_t from_ms, int64_t to_ms)
{
    int64_t from_ns = -1;
    int64_t to_ns = -1;
    struct err err = {0};
    struct options o = asked(from, to);
    ck_assert_msg(window_of(&o, p, &from_ns, &to_ns, &err) == 0, "%s: %s", from, err.text);
    ck_assert_int_eq(from_ns, from_ms * NS_PER_MS);
    ck_assert_int_eq(to_ns, to_ms * NS_PER_MS);
}

START_TEST(a_moment_is_since_the_start_before_the_end_or_utc)
{
    expect("+12.5s", "20", 12500, 20000);
    expect("0", NULL, 0, 60000);
    expect("-10s", NULL, 50000, 60000);
    expect("-1h", "-1", 0, 59000);
    expect("23:59:36.7", "00:00:10", 6700, 40000);
    expect("2023-11-14T23:59:40Z", "2023-11-15 00:00:00.25", 10000, 30250);
    expect("23:59:29.5", "99", 0, 60000); /* rounded, as it may be printed */
}
END_TEST

START_TEST(what_lies_outside_is_one_error)
{
    static const struct {
        const char *from, *to, *what;
    } outside[] = {
        {"60", NULL, "nothing between --from and --to"},
        {"20", "10", "nothing between --from and --to"},
        {"5", "5", "nothing between --from and --to"},
        {"2023-11-16T00:00:00Z", NULL, "no such time as --from (UTC)"},
        {NULL, "23:50:00", "no such time as --to (UTC)"},
        {"23:59", NULL, "no such time as --from (UTC)"},
    };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        int64_t from_ns = 0;
        int64_t to_ns = 0;
        char words[200];
        struct err err = {0};
        struct options o = asked(outside[i].from, outside[i].to);
        ck_assert_int_lt(window_of(&o, p, &from_ns, &to_ns, &err), 0);
        (void)snprintf(words, sizeof words,
                       "the recording has %s: it has 0 to 60.000 s, 2023-11-14T23:59:30Z to "
                       "00:00:30.0Z",
                       outside[i].what);
        ck_assert_str_eq(err.text, words);
    }
}
END_TEST

START_TEST(a_recording_without_a_clock_has_no_utc)
{
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    struct err err = {0};
    struct options o = asked("23:59:40", NULL);
    profile_set_origin(p, &(struct profile_origin){0});
    ck_assert_int_lt(window_of(&o, p, &from_ns, &to_ns, &err), 0);
    ck_assert_str_eq(err.text, "the recording does not say at what time it was made: give --from "
                               "and --to in seconds");
}
END_TEST

START_TEST(what_is_cut_is_said)
{
    struct text words = {0};
    struct window w;
    struct err err = {0};
    struct options o = {0};
    ck_assert_int_eq(window_cut(&o, p, &w, &err), 0);
    window_add_words(&words, p, &w, false);
    ck_assert_ptr_null(words.s);
    o = asked("10", "20");
    ck_assert_int_eq(window_cut(&o, p, &w, &err), 0);
    window_add_words(&words, p, &w, true);
    ck_assert_str_eq(words.s,
                     "window 10.000 to 20.000 s of 60.000 s (23:59:40.0 to 23:59:50.0 UTC)");
    text_clear(&words);
    window_add_words(&words, p, &w, false);
    ck_assert_str_eq(words.s, "window 10.000 to 20.000 s of 60.000 s (23:59:40.0 to 23:59:50.0 "
                              "UTC); of 10.000 s on CPUs and waiting for one 10.000 s are shared "
                              "out at the edges by samples, the rest is the kernel's count");
    ck_assert_int_eq(profile_end_ns(p), 10 * S);
    text_release(&words);
}
END_TEST

START_TEST(coarse_edges_are_said_in_brief_too)
{
    struct text words = {0};
    struct window w;
    struct err err = {0};
    struct options o = asked("10", "20");
    profile_set_exact_time(p, &(struct exact_time){.step_ns = 16 * S, .since_ns = 50 * S});
    ck_assert_int_eq(window_cut(&o, p, &w, &err), 0);
    window_add_words(&words, p, &w, true);
    ck_assert_str_eq(words.s, "window 10.000 to 20.000 s of 60.000 s; edges are known to 16 s");
    text_release(&words);
}
END_TEST

/* The thread computes in the first half, by the process's clock, too. */
START_TEST(the_clock_of_a_process_is_no_doubt_about_a_part)
{
    struct profile_builder b = builder_start(100, "python3");
    thread_id t = builder_thread(&b, 100, NULL);
    struct window window;
    struct err err = {0};
    builder_run(&b, t, "main!app", 30000, 30000);
    builder_run(&b, t, "main!app > futex [blocked]", 30000, 0);
    profile_get_thread(b.p, t)->counts.ns[COUNTED_CPU] = 30 * S;
    profile_get_thread(b.p, t)->counts.ns[COUNTED_OFF_CPU] = 30 * S;
    profile_get_process(b.p, b.process)->usage.user_ns = 40 * S;
    profile_end(b.p, 60 * S);
    struct options o = asked("+25s", NULL);
    ck_assert_int_eq(window_cut(&o, b.p, &window, &err), 0);
    ck_assert_str_eq(profile_metadata_text(b.p, "cpu_check"), "");
    profile_free(b.p);
}
END_TEST

CHECK_MAIN_WITH("window", 4, set_up, tear_down, a_moment_is_since_the_start_before_the_end_or_utc,
                what_lies_outside_is_one_error, a_recording_without_a_clock_has_no_utc,
                what_is_cut_is_said, coarse_edges_are_said_in_brief_too,
                the_clock_of_a_process_is_no_doubt_about_a_part)
