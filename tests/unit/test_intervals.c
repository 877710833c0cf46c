/* Parts of a thread's time, and its runs within them. */
#include "summary/intervals.h"

#include "base/text.h"
#include "tests/support/check_main.h"

/* Runs of 10, 0, 20 and 30. */
static struct run runs[] = {
    {.start_ns = 0, .weights.wall_ns = 10},
    {.start_ns = 10, .weights.wall_ns = 0},
    {.start_ns = 10, .weights.wall_ns = 20},
    {.start_ns = 30, .weights.wall_ns = 30},
};
static struct profile_thread thread = {.runs = runs, .n_runs = sizeof runs / sizeof *runs};

/* "0:5-10 2:10-12 2+12-15": the run, whether it was the one before, the part. */
static void assert_parts(struct run_parts p, const char *expected)
{
    struct text parts = {0};
    text_add(&parts, "");
    while (run_parts_next(&p))
        text_addf(&parts, "%s%d%s%d-%d", parts.len ? " " : "", (int)(p.run - p.thread->runs),
                  p.again ? "+" : ":", (int)p.when.start_ns, (int)p.when.end_ns);
    ck_assert_str_eq(parts.s, expected);
    text_release(&parts);
}

START_TEST(each_part_of_a_run_in_an_interval_is_seen_once)
{
    const struct interval in[] = {{-5, 3}, {5, 12}, {12, 15}, {29, 31}, {59, 90}};
    assert_parts(run_parts_of(&thread, in, sizeof in / sizeof *in),
                 "0:0-3 0+5-10 2:10-12 2+12-15 2+29-30 3:30-31 3+59-60");
    assert_parts(run_parts_of(&thread, in, 0), "");
    assert_parts(run_parts_of(&thread, &in[4], 1), "3:59-60");
    assert_parts(run_parts_of_all(&thread), "0:0-10 1:10-10 2:10-30 3:30-60");
    assert_parts(run_parts_of_all(&(struct profile_thread){.n_runs = 0}), "");
}
END_TEST

/* The runs of several threads in one are at no time: only intervals made of them are known. */
START_TEST(the_runs_of_folded_threads_are_found_as_they_are)
{
    struct run sums[] = {{.start_ns = 50, .weights.wall_ns = 30},
                         {.start_ns = 10, .weights.wall_ns = 90},
                         {.start_ns = 40, .weights.wall_ns = 5}};
    const struct profile_thread folded = {.runs = sums, .n_runs = 3, .n_folded = 4};
    const struct interval own[] = {{50, 80}, {40, 45}};
    const struct interval all = {0, 100};
    assert_parts(run_parts_of(&folded, own, 2), "0:50-80 2:40-45");
    assert_parts(run_parts_of(&folded, &all, 1), "");
    assert_parts(run_parts_of_all(&folded), "0:50-80 1:10-100 2:40-45");
}
END_TEST

START_TEST(a_union_is_in_order_and_disjoint)
{
    static const struct interval times[] = {{40, 50}, {0, 10}, {5, 20}, {20, 30}, {45, 48}};
    struct intervals all = {.n = 0};
    intervals_unite(&all);
    ck_assert_uint_eq(all.n, 0);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        intervals_add(&all, times[i]);
    intervals_unite(&all);
    ck_assert_uint_eq(all.n, 2);
    ck_assert_int_eq(all.items[0].end_ns, 30);
    ck_assert_int_eq(all.items[1].start_ns, 40);
    ck_assert_int_eq(intervals_ns(&all), 40);
    intervals_release(&all);
}
END_TEST

START_TEST(what_goes_on_is_joined)
{
    struct intervals all = {.n = 0};
    intervals_join(&all, (struct interval){0, 10});
    intervals_join(&all, (struct interval){10, 10});
    intervals_join(&all, (struct interval){10, 20});
    intervals_join(&all, (struct interval){21, 30});
    ck_assert_uint_eq(all.n, 2);
    ck_assert_int_eq(all.items[0].end_ns, 20);
    intervals_release(&all);
}
END_TEST

CHECK_MAIN("intervals", 20, each_part_of_a_run_in_an_interval_is_seen_once,
           the_runs_of_folded_threads_are_found_as_they_are, a_union_is_in_order_and_disjoint,
           what_goes_on_is_joined)
