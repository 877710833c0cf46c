/* cli/report_tables.c: the tables of a recording. */
#include <string.h>

#include "base/clock.h"
#include "cli/report_tables.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static struct profile *p;

static void set_up(void)
{
    struct profile_builder b = builder_start(100, "python3");
    thread_id one = builder_thread(&b, 100, NULL);
    thread_id two = builder_thread(&b, 101, "writer");
    const struct wait_side side = {.thing = THING_MUTEX,
                                   .addr = 4096,
                                   .blocker = {.kind = BLOCKER_THREAD, .pid = 100, .tid = 101}};
    profile_name_lock(b.p, 100, 4096, "table");
    builder_run(&b, one, "main@/a/train.py:1:9 > step@/a/train.py:7:9 > fold!libmge.so", 500, 500);
    builder_held(&b, one, "main@/a/train.py:1:9 > lock@/a/train.py:3:4", &side, 1000);
    builder_run(&b, one, "main@/a/train.py:1:9 > step@/a/train.py:7:8 > step@/a/train.py:7:9", 500,
                500);
    builder_run(&b, two, "run!app|/src/run.cc:7", 1500, 1500);
    builder_missed(&b, two, 500);
    profile_end(b.p, INT64_C(2) * NS_PER_S);
    p = b.p;
}

static void tear_down(void)
{
    p = profile_free(p);
}

/* What is printed where O asks. */
static void expect(const struct options *o, const char *expected)
{
    struct text out = {0};
    report_tables_add(o, p, 79, &out);
    ck_assert_str_eq(out.s, expected);
    text_release(&out);
}

START_TEST(threads_have_a_row_each)
{
    const struct options o = {.tables.threads = true};
    expect(&o, "  thread                         run  wait-cpu   blocked  switches    faults\n"
               "  main 100                     1.000     0.000     1.000         0         0\n"
               "  writer 101                   1.500     0.000     0.500         0         0\n");
}
END_TEST

START_TEST(functions_have_their_own_time_and_that_of_what_they_call)
{
    const struct options o = {.tables.functions = true};
    expect(&o, "    self    total      run wait-cpu  blocked  function (run to blocked: of self)\n"
               "   1.500    1.500    1.500    0.000    0.000  run run.cc\n"
               "   1.000    1.000    0.000    0.000    1.000  lock train.py:3\n"
               "   0.500    1.000    0.500    0.000    0.000  step train.py:7\n"
               "   0.500    0.500    0.500    0.000    0.000  fold [libmge.so]\n"
               "   0.000    2.000    0.000    0.000    0.000  main train.py:1\n");
}
END_TEST

START_TEST(waits_have_whom_they_are_for)
{
    const struct options o = {.tables.waits = true};
    expect(&o, "  blocked   threads     times  what for\n"
               "    1.000         1         1  futex [blocked]: lock table, held by writer 101\n");
}
END_TEST

START_TEST(a_tree_joins_what_has_one_child)
{
    const struct options o = {.tables.tree = true};
    expect(&o, "   2.000       main 100: run 1.000, wait-cpu 0.000, blocked 1.000\n"
               "   2.000 100%  main train.py:1\n"
               "     1.000  50%  step train.py:7\n"
               "       0.500  25%  fold [libmge.so]\n"
               "       0.500  25%  step train.py:7\n"
               "     1.000  50%  lock train.py:3 > futex [blocked]\n"
               "\n"
               "   2.000       writer 101: run 1.500, wait-cpu 0.000, blocked 0.000, not seen\n"
               "                0.500\n"
               "   1.500  75%  run run.cc\n");
}
END_TEST

/* Of main's 2 s 1 s is in step(), half of that in libmge.so. */
START_TEST(stacks_are_chosen_by_a_frame)
{
    const char *patterns[] = {"*mge*", "lock", "train.py", "/a/*"};
    struct options o = {.tables.functions = true, .include = {.words = patterns, .n = 1}};
    expect(&o, "    self    total      run wait-cpu  blocked  function (run to blocked: of self)\n"
               "   0.500    0.500    0.500    0.000    0.000  fold [libmge.so]\n"
               "   0.000    0.500    0.000    0.000    0.000  main train.py:1\n"
               "   0.000    0.500    0.000    0.000    0.000  step train.py:7\n");
    o = (struct options){.tables.waits = true, .exclude = {.words = patterns, .n = 2}};
    expect(&o, "  blocked   threads     times  what for\n");
    o = (struct options){.tables.tree = true,
                         .include = {.words = patterns + 2, .n = 2},
                         .exclude = {.words = patterns, .n = 1}};
    expect(&o, "   1.500       main 100: run 0.500, wait-cpu 0.000, blocked 1.000\n"
               "   1.500 100%  main train.py:1\n"
               "     1.000  67%  lock train.py:3 > futex [blocked]\n"
               "     0.500  33%  step train.py:7 > step train.py:7\n");
}
END_TEST

START_TEST(rows_have_a_least_time)
{
    struct options o = {.tables.functions = true, .least_share = 0.3};
    expect(&o, "    self    total      run wait-cpu  blocked  function (run to blocked: of self)\n"
               "   1.500    1.500    1.500    0.000    0.000  run run.cc\n"
               "   0.000    2.000    0.000    0.000    0.000  main train.py:1\n"
               "  and 3 more functions\n");
    o = (struct options){.tables.waits = true, .least_ns = INT64_C(2) * NS_PER_S};
    expect(&o, "  blocked   threads     times  what for\n"
               "  and 1 more waits\n");
    o = (struct options){.tables.tree = true, .least_share = 0.4};
    expect(&o, "   2.000       main 100: run 1.000, wait-cpu 0.000, blocked 1.000\n"
               "   2.000 100%  main train.py:1\n"
               "     1.000  50%  step train.py:7\n"
               "     1.000  50%  lock train.py:3 > futex [blocked]\n"
               "\n"
               "   2.000       writer 101: run 1.500, wait-cpu 0.000, blocked 0.000, not seen\n"
               "                0.500\n"
               "   1.500  75%  run run.cc\n");
}
END_TEST

/* As of imports that import: ten calls are all there, of eleven those at the ends. */
START_TEST(a_long_row_has_its_ends)
{
    struct options o = {.tables.tree = true};
    struct profile_builder b = builder_start(100, "python3");
    profile_free(p);
    p = b.p;
    builder_run(&b, builder_thread(&b, 100, NULL),
                "a@/a.py:1:1 > b@/a.py:2:2 > c@/a.py:3:3 > "
                "d@/a.py:4:4 > e@/a.py:5:5 > f@/a.py:6:6 > g@/a.py:7:7 > h@/a.py:8:8 > "
                "i@/a.py:9:9 > j@/a.py:10:10",
                1000, 1000);
    builder_run(&b, builder_thread(&b, 101, "eleven"),
                "a@/a.py:1:1 > b@/a.py:2:2 > c@/a.py:3:3 > "
                "d@/a.py:4:4 > e@/a.py:5:5 > f@/a.py:6:6 > g@/a.py:7:7 > h@/a.py:8:8 > "
                "i@/a.py:9:9 > j@/a.py:10:10 > k@/a.py:11:11",
                1000, 1000);
    profile_end(p, NS_PER_S);
    expect(&o, "   1.000       main 100: run 1.000, wait-cpu 0.000, blocked 0.000\n"
               "   1.000 100%  a a.py:1 > b a.py:2 > c a.py:3 > d a.py:4 > e a.py:5 > f a.py:6\n"
               "                > g a.py:7 > h a.py:8 > i a.py:9 > j a.py:10\n"
               "\n"
               "   1.000       eleven 101: run 1.000, wait-cpu 0.000, blocked 0.000\n"
               "   1.000 100%  a a.py:1 > b a.py:2 > c a.py:3 > d a.py:4 > … 3 more > h a.py:8\n"
               "                > i a.py:9 > j a.py:10 > k a.py:11\n");
}
END_TEST

/* As a server's for its requests: one tree, and of rows that are cut the tid stays. */
START_TEST(threads_that_are_alike_are_one_tree)
{
    struct options o = {.tables.tree = true};
    struct profile_builder b = builder_start(100, "python3");
    profile_free(p);
    p = b.p;
    builder_run(&b, builder_thread(&b, 100, NULL), "main@/a/train.py:1:9", 1000, 1000);
    for (pid_t tid = 101; tid < 104; tid++)
        builder_run(&b, builder_thread(&b, tid, "a-name-as-long-as-names-are"),
                    "handle@/a/serve.py:1:2 > read@/a/serve.py:5:6", 1000, 1000);
    profile_end(p, NS_PER_S);
    expect(&o, "   1.000       main 100: run 1.000, wait-cpu 0.000, blocked 0.000\n"
               "   1.000 100%  main train.py:1\n"
               "\n"
               "   3.000       3 x a-name-as-long-as-names-are: run 3.000, wait-cpu 0.000,\n"
               "                blocked 0.000\n"
               "   3.000 100%  handle serve.py:1 > read serve.py:5\n");
    o = (struct options){.tables.threads = true};
    expect(&o, "  thread                         run  wait-cpu   blocked  switches    faults\n"
               "  main 100                     1.000     0.000     0.000         0         0\n"
               "  a-name-as-long-as-n… 101     1.000     0.000     0.000         0         0\n"
               "  a-name-as-long-as-n… 102     1.000     0.000     0.000         0         0\n"
               "  a-name-as-long-as-n… 103     1.000     0.000     0.000         0         0\n");
}
END_TEST

START_TEST(tables_stand_apart)
{
    const struct options o = {.tables = {.threads = true, .waits = true}};
    struct text out = {0};
    report_tables_add(&o, p, 79, &out);
    ck_assert_ptr_nonnull(strstr(out.s, "\n\n  blocked "));
    text_release(&out);
}
END_TEST

CHECK_MAIN_WITH("report_tables", 4, set_up, tear_down, threads_have_a_row_each,
                functions_have_their_own_time_and_that_of_what_they_call,
                waits_have_whom_they_are_for, a_tree_joins_what_has_one_child,
                stacks_are_chosen_by_a_frame, rows_have_a_least_time, a_long_row_has_its_ends,
                threads_that_are_alike_are_one_tree, tables_stand_apart)
