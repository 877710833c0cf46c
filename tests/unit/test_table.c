#include "summary/table.h"

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

enum { MAX_ROWS = 3 };

/* The table of B after END_MS; the profile is freed before the table is read. */
static struct table table_of(struct profile_builder *b, int64_t end_ms)
{
    struct view_options options = {0};
    struct table t;
    profile_end(b->p, end_ms * NS_PER_MS);
    struct groups groups;
    groups_init(&groups, b->p, &options);
    table_init(&t, &groups, MAX_ROWS);
    groups_release(&groups);
    profile_free(b->p);
    return t;
}

START_TEST(a_row_is_data)
{
    struct profile_builder b = builder_start(10, "python3");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "f@/src/a.py:1:2", 300, 300);
    builder_run(&b, main, "f@/src/a.py:1:3 > db::sync!db.so > read pipe [blocked]", 600, 0);
    builder_missed(&b, main, 100);
    struct table t = table_of(&b, 1000);
    const struct table_row *row = &t.rows[0];
    ck_assert_uint_eq(t.n, 1);
    ck_assert(!t.partial);
    ck_assert_str_eq(row->label, "main 10");
    ck_assert_uint_eq(row->n_threads, 1);
    ck_assert_ptr_null(row->idle);
    ck_assert_int_eq(row->wall_ns, INT64_C(1000) * NS_PER_MS);
    ck_assert_int_eq(row->cpu_ns, INT64_C(300) * NS_PER_MS);
    ck_assert_int_eq(row->runqueue_ns, 0);
    ck_assert_int_eq(row->seen_ns, INT64_C(900) * NS_PER_MS);
    ck_assert_uint_eq(row->n_paths, 2);
    ck_assert_int_eq(row->paths[0].ns, INT64_C(600) * NS_PER_MS);
    ck_assert_uint_eq(row->paths[0].n, 3);
    ck_assert_str_eq(row->paths[0].parts[0], "f a.py:3");
    ck_assert_str_eq(row->paths[0].parts[1], "db::sync");
    ck_assert_str_eq(row->paths[0].parts[2], "[read pipe]");
    ck_assert_int_eq(row->paths[1].ns, INT64_C(300) * NS_PER_MS);
    ck_assert_str_eq(row->paths[1].parts[0], "f a.py:2");
    table_release(&t);
}
END_TEST

/* Labels are whole here, however long: how much of them is shown is the terminal's matter. */
START_TEST(threads_that_do_the_same_are_one_row)
{
    struct profile_builder b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    for (pid_t tid = 11; tid < 14; tid++)
        builder_run(&b, builder_thread(&b, tid, NULL),
                    "gomp_team_barrier_wait_of_a_long_name!libgomp.so.1 > futex [blocked]", 1000,
                    0);
    struct table t = table_of(&b, 1000);
    ck_assert_uint_eq(t.n, 2);
    ck_assert_str_eq(t.rows[1].label, "3 x omp worker");
    ck_assert_uint_eq(t.rows[1].n_threads, 3);
    ck_assert_int_eq(t.rows[1].wall_ns, INT64_C(3000) * NS_PER_MS);
    ck_assert_uint_eq(t.rows[1].n_paths, 0);
    ck_assert_str_eq(t.rows[1].idle, "gomp_team_barrier_wait_of_a_long_name");
    table_release(&t);
}
END_TEST

START_TEST(idle_threads_of_several_pools_are_helpers)
{
    struct profile_builder b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    for (pid_t tid = 11; tid < 14; tid++)
        builder_run(&b, builder_thread(&b, tid, NULL),
                    "gomp_barrier_wait!libgomp.so.1 > futex [blocked]", 1000, 0);
    builder_run(&b, builder_thread(&b, 14, "pt_autograd_0"),
                "torch::autograd::ReadyQueue::pop!libtorch_cpu.so > futex [blocked]", 1000, 0);
    struct table t = table_of(&b, 1000);
    ck_assert_uint_eq(t.n, 2);
    ck_assert_str_eq(t.rows[1].label, "4 helper threads");
    ck_assert_uint_eq(t.rows[1].n_threads, 4);
    ck_assert_str_eq(t.rows[1].idle, "3 x omp worker, pt_autograd_0");
    ck_assert_ptr_null(t.rows[1].others);
    table_release(&t);
}
END_TEST

/* A launcher is the last row, and no helper of whom it launched. */
START_TEST(a_launcher_has_a_row_behind_idle_threads)
{
    struct profile_builder b = builder_start(10, "torchrun");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!torchrun > wait4 [blocked]", 1000, 0);
    process_id launcher = b.process;
    profile_set_children(b.p, launcher, &(struct profile_child){.pid = 20, .recorded = true}, 1);
    builder_process(&b, 20, "python3", "");
    profile_get_process(b.p, b.process)->parent = launcher;
    builder_run(&b, builder_thread(&b, 20, NULL), "train!app", 1000, 1000);
    for (pid_t tid = 21; tid < 24; tid++)
        builder_run(&b, builder_thread(&b, tid, NULL),
                    "gomp_barrier_wait!libgomp.so.1 > futex [blocked]", 1000, 0);
    struct table t = table_of(&b, 1000);
    ck_assert_uint_eq(t.n, 3);
    ck_assert_str_eq(t.rows[1].idle, "gomp_barrier_wait");
    ck_assert_uint_eq(t.rows[1].n_threads, 3);
    ck_assert_str_eq(t.rows[2].label, "torchrun 10");
    table_release(&t);
}
END_TEST

START_TEST(rows_past_the_limit_are_summed_up)
{
    static const char *const stacks[] = {"a!app", "b!app", "c!app", "d!app", "e!app"};
    struct profile_builder b = builder_start(10, "app");
    for (int i = 0; i < 5; i++)
        builder_run(&b, builder_thread(&b, 10 + i, NULL), stacks[i], 100, 100 - 10 * i);
    profile_set_number(b.p, METRIC_STACKS_LEFT_OUT, 1);
    struct table t = table_of(&b, 100);
    ck_assert(t.partial);
    ck_assert_uint_eq(t.n, MAX_ROWS);
    ck_assert_str_eq(t.rows[2].label, "3 more threads");
    ck_assert_uint_eq(t.rows[2].n_threads, 3);
    ck_assert_uint_eq(t.rows[2].n_paths, 0);
    ck_assert_str_eq(t.rows[2].others, "c, d, e");
    ck_assert_int_eq(t.rows[2].cpu_ns, INT64_C(210) * NS_PER_MS);
    ck_assert_int_eq(t.rows[2].seen_ns, INT64_C(300) * NS_PER_MS);
    table_release(&t);
}
END_TEST

CHECK_MAIN("table", 20, a_row_is_data, threads_that_do_the_same_are_one_row,
           idle_threads_of_several_pools_are_helpers, a_launcher_has_a_row_behind_idle_threads,
           rows_past_the_limit_are_summed_up)
