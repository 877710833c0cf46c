#include "profile/runs.h"

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

CHECK_MAIN("runs", 20, equal_ones_of_a_step_are_joined_in_the_order_of_their_first,
           steps_are_counted_from_the_origin, one_that_goes_on_into_the_next_step_stays,
           everything_in_one_step, nothing_to_join)
