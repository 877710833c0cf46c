#include "profile/runs.h"

#include "base/clock.h"
#include "tests/support/check_main.h"

/* "a10 b5": stacks by letter, capitals blocked, and wall times; on the CPU for 1 in each, a sample
 * each. */
static size_t make(struct run *ret, const char *text, int64_t start_ns)
{
    size_t n = 0;
    for (const char *s = text; *s; s += *s == ' ') {
        bool blocked = *s < 'a';
        struct run run = {.at.stack = {(uint32_t)((*s | ' ') - 'a' + 1)},
                          .state = blocked ? RUN_BLOCKED : RUN_RUNNING,
                          .samples = 1,
                          .waits = 1,
                          .start_ns = start_ns,
                          .weights.counted_ns = 1};
        for (s++; *s >= '0' && *s <= '9'; s++)
            run.weights.wall_ns = run.weights.wall_ns * 10 + *s - '0';
        start_ns += run.weights.wall_ns;
        ret[n++] = run;
    }
    return n;
}

/* BEFORE joined by STEP_NS is AFTER, time by time, and no sum has changed. */
static void assert_joins(const char *before, int64_t start_ns, int64_t step_ns, const char *after)
{
    struct run runs[32];
    struct run wanted[32];
    size_t n = make(runs, before, start_ns);
    size_t n_wanted = make(wanted, after, start_ns);
    size_t kept = runs_join(runs, n, step_ns);
    uint64_t samples = 0;
    uint64_t waits = 0;
    int64_t counted_ns = 0;
    ck_assert_uint_eq(kept, n_wanted);
    for (size_t i = 0; i < kept; i++) {
        ck_assert_uint_eq(runs[i].at.stack.ix, wanted[i].at.stack.ix);
        ck_assert_int_eq(runs[i].state, wanted[i].state);
        ck_assert_int_eq(runs[i].start_ns, wanted[i].start_ns);
        ck_assert_int_eq(runs[i].weights.wall_ns, wanted[i].weights.wall_ns);
        samples += runs[i].samples;
        waits += runs[i].waits;
        counted_ns += runs[i].weights.counted_ns;
    }
    ck_assert_uint_eq(samples, n);
    ck_assert_uint_eq(waits, n);
    ck_assert_int_eq(counted_ns, (int64_t)n);
}

START_TEST(equal_ones_of_a_step_are_joined_in_the_order_of_their_first)
{
    assert_joins("b10 a10 b10 a10 c10", 0, 100, "b20 a20 c10");
    assert_joins("a10 A10 a10", 0, 100, "a20 A10"); /* states are told apart */
    assert_joins("a1 b1 a1 b1 a1 b1", 1000, 1000, "a3 b3");
}
END_TEST

START_TEST(steps_are_counted_from_the_origin)
{
    assert_joins("a10 b10 a10 b10", 80, 100, "a10 b10 a10 b10");
    assert_joins("a10 b10 a10 b10 a10 b10 a10", 70, 100, "a20 b10 b20 a20");
}
END_TEST

START_TEST(one_that_goes_on_into_the_next_step_stays)
{
    assert_joins("a10 b10 a10 B500 a10 b10 a10", 0, 100, "a20 b10 B500 a20 b10");
    assert_joins("B10 a10 B500 a10 B10", 0, 100, "B10 a10 B500 a10 B10");
}
END_TEST

START_TEST(everything_in_one_step)
{
    struct run runs[8];
    assert_joins("a10 b900 a10 b900", 5, INT64_MAX, "a20 b1800");
    /* As those of several threads follow each other. */
    size_t n = make(runs, "a10 b10", 500);
    n += make(runs + n, "b10 a10", 100);
    ck_assert_uint_eq(runs_join(runs, n, INT64_MAX), 2);
    ck_assert_int_eq(runs[0].weights.wall_ns, 20);
    ck_assert_int_eq(runs[1].weights.wall_ns, 20);
}
END_TEST

START_TEST(nothing_to_join)
{
    assert_joins("", 0, 100, "");
    assert_joins("a10", 0, 100, "a10");
}
END_TEST

/* Whether each second of the first minute is exact: "......++" … */
static void assert_exact(const struct exact_time *e, const char *wanted)
{
    int64_t until_ns = 0;
    bool exact = false;
    for (int64_t s = 0; wanted[s]; s++) {
        if (s * NS_PER_S >= until_ns)
            exact = exact_time_has(e, s * NS_PER_S, &until_ns);
        int64_t same_ns;
        ck_assert_int_gt(until_ns, s * NS_PER_S);
        ck_assert_int_eq(exact_time_has(e, s * NS_PER_S, &same_ns), exact);
        ck_assert_int_eq(same_ns, until_ns);
        ck_assert_int_eq(wanted[s], exact ? '+' : '.');
    }
}

START_TEST(the_last_of_so_many_windows_is_exact_and_the_newest_time)
{
    struct exact_time e = {0};
    assert_exact(&e, "++++++++");
    e = (struct exact_time){.step_ns = NS_PER_S, .every = 2, .since_ns = (int64_t)26 * NS_PER_S};
    assert_exact(&e, "........++++++++........++++++++");
    e.since_ns = (int64_t)22 * NS_PER_S;
    assert_exact(&e, "........++++++++......++++++++++");
    e.every = 4;
    assert_exact(&e, "......................++++++++++");
    e.every = 0;
    assert_exact(&e, "......................++++++++++");
}
END_TEST

/* Of the newest time only what the windows would have had: it is one day's hour like the others. */
START_TEST(windows_stand_for_all_the_newest_time_does_not)
{
    enum { WINDOW_S = 8, WINDOWS = 5, END_S = WINDOWS * 2 * WINDOW_S };
    const int64_t end_ns = (int64_t)END_S * NS_PER_S;
    struct exact_time e = {.step_ns = NS_PER_S, .every = 2, .since_ns = end_ns / 4};
    int64_t until_ns, sampled_ns = 0;
    for (int64_t at_ns = 0; at_ns < end_ns; at_ns = until_ns)
        if (exact_time_samples(&e, end_ns, at_ns, &until_ns))
            sampled_ns += until_ns - at_ns;
    ck_assert_int_eq(sampled_ns, end_ns / 2);
    ck_assert(!exact_time_samples(&e, end_ns, end_ns / 2 - 1, &until_ns));
    ck_assert(exact_time_has(&e, end_ns / 2 - 1, &until_ns));
    e.every = 4; /* two windows are too few */
    ck_assert(exact_time_samples(&e, end_ns, end_ns / 2 - 1, &until_ns));
    e = (struct exact_time){.every = 0};
    ck_assert(exact_time_samples(&e, end_ns, 0, &until_ns));
}
END_TEST

START_TEST(exact_time_stays_as_it_is)
{
    enum { N = 8 };
    const struct exact_time e = {
        .step_ns = 4 * (int64_t)NS_PER_S, .every = 2, .since_ns = INT64_MAX};
    struct run runs[N] = {{.at.stack.ix = 1}, {.at.stack.ix = 2}, {.at.stack.ix = 1},
                          {.at.stack.ix = 3}, {.at.stack.ix = 1}, {.at.stack.ix = 2},
                          {.at.stack.ix = 1}, {.at.stack.ix = 2}};
    const int lengths_s[N] = {1, 1, 1, 6, 2, 2, 2, 2}; /* the 4th goes on into the exact window */
    const int left_s[] = {2, 1, 6, 2, 2, 2, 2};
    for (int i = 0, at = 0; i < N; at += lengths_s[i++]) {
        runs[i].start_ns = (int64_t)at * NS_PER_S;
        runs[i].weights.wall_ns = (int64_t)lengths_s[i] * NS_PER_S;
    }
    ck_assert_uint_eq(runs_coarsen(runs, N, &e), N - 1);
    for (int i = 0; i < N - 1; i++)
        ck_assert_int_eq(runs[i].weights.wall_ns, (int64_t)left_s[i] * NS_PER_S);
}
END_TEST

CHECK_MAIN("runs", 20, the_last_of_so_many_windows_is_exact_and_the_newest_time,
           windows_stand_for_all_the_newest_time_does_not, exact_time_stays_as_it_is,
           equal_ones_of_a_step_are_joined_in_the_order_of_their_first,
           steps_are_counted_from_the_origin, one_that_goes_on_into_the_next_step_stays,
           everything_in_one_step, nothing_to_join)
