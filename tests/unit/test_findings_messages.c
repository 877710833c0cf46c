/* What data that processes pass to each other costs. */
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

#define LIB   "@/usr/lib/python3.11/multiprocessing/"
#define DUMPS "Pool._handle_tasks" LIB "pool.py:1:2 > ForkingPickler.dumps" LIB "reduction.py:1:2"
#define LOADS "work@/src/a.py:1:2 > worker" LIB "pool.py:1:2 > SimpleQueue.get" LIB "queues.py:1:2"

static uint64_t reads;       /* of the worker's thread; 0: not counted */
static uint64_t read_bytes;  /* in all */
static uint64_t other_reads; /* of the thread main, which passes none */

/* A pool's process pickles for PASSES_MS of 4 s, and the user's function runs in it for RUNS_MS. */
static void judge_pool(int64_t passes_ms, int64_t runs_ms)
{
    b = builder_start(10, "app");
    thread_id lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead, "main@/src/a.py:1:9 > futex [blocked]", 4000, 0);
    profile_get_thread(b.p, lead)->usage.reads = other_reads;
    thread_id tasks = builder_thread(&b, 11, "tasks");
    builder_run(&b, tasks, DUMPS, passes_ms, passes_ms);
    builder_run(&b, tasks, "write_all" LIB "connection.py:1:2 > write pipe [blocked]",
                4000 - passes_ms, 0);
    builder_process(&b, 20, "python3", "");
    thread_id worker = builder_thread(&b, 20, NULL);
    builder_run(&b, worker, LOADS, passes_ms / 2, passes_ms / 2);
    builder_run(&b, worker, "work@/src/a.py:1:2 > worker" LIB "pool.py:1:2 > f@/src/a.py:5:6",
                runs_ms, runs_ms);
    builder_run(&b, worker, LOADS " > read pipe [blocked]", 4000 - passes_ms / 2 - runs_ms, 0);
    profile_get_thread(b.p, worker)->usage.reads = reads;
    profile_get_thread(b.p, worker)->usage.read_bytes = read_bytes;
    judge(4000);
}

START_TEST(what_passing_data_costs_is_told)
{
    judge_pool(2000, 1000);
    assert_told(0, "messages",
                "Passing data between processes takes 75% of the CPU time, while 10 (app) is 100% "
                "in main a.py:9. Most of it is in 10's tasks, in ForkingPickler.dumps "
                "reduction.py:2. Send less per message, or share memory. A task that is a method "
                "takes its object along: initializer= gives it to each process once.");
    teardown();
}
END_TEST

START_TEST(small_messages_are_told_from_large_ones)
{
    static const struct {
        uint64_t reads, bytes, others; /* BYTES: of each */
        int64_t runs_ms;
        bool small;
    } cases[] = {
        {120000, 60, 0, 500, true},       {900, 60, 0, 500, false},
        {60000, 32768, 0, 500, false},    /* pieces of 64 KiB, and their lengths */
        {900, 32768, 200000, 500, false}, /* of files */
        {200000, 60, 0, 2000, false},     /* the worker does something else, too */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reads = cases[i].reads;
        read_bytes = reads * cases[i].bytes;
        other_reads = cases[i].others;
        judge_pool(2000, cases[i].runs_ms);
        assert_told(0, "messages",
                    cases[i].small
                        ? "The messages are small: 60 bytes a read, 30,000 reads a second. Send "
                          "more in each (chunksize)."
                        : "Send less per message, or share memory.");
        teardown();
    }
    reads = read_bytes = other_reads = 0;
}
END_TEST

/* Whose main thread waits meanwhile has no part in it; what the library offers is told. */
START_TEST(who_passes_them_itself_is_no_others_while)
{
    b = builder_start(10, "app");
    thread_id lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead,
                "sell@/src/a.py:1:9 > BaseProxy._callmethod" LIB "managers.py:1:2 > "
                "ForkingPickler.dumps" LIB "reduction.py:1:2",
                4000, 4000);
    builder_process(&b, 20, "python3", "");
    builder_run(&b, builder_thread(&b, 20, NULL), "main@/src/b.py:1:2 > futex [blocked]", 4000, 0);
    judge(4000);
    assert_told(0, "messages",
                "Passing data between processes takes 100% of the CPU time. Most of it is in 10 "
                "(app), in sell a.py:9 > ForkingPickler.dumps.");
    ck_assert(is_said("copy() of its dict"));
    teardown();
}
END_TEST

START_TEST(what_the_tasks_do_comes_first)
{
    judge_pool(1000, 3500); /* 30 % */
    assert_told(1, "messages", "Passing data between processes takes 30% of the CPU time");
    teardown();
    judge_pool(900, 3500);
    assert_not_told("messages");
    teardown();
    judge_pool(400, 0); /* all of the CPU time, of which there is little */
    assert_not_told("messages");
    teardown();
}
END_TEST

/* Most of the little CPU time that the others use goes into it, but main waits for its files. */
START_TEST(what_it_costs_is_compared_with_what_else_takes_the_leaders_time)
{
    b = builder_start(10, "app");
    thread_id lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead, "load@/src/a.py:1:9 > read /data/x [blocked]", 2400, 0);
    builder_run(&b, lead, "rest@/src/a.py:1:9 > clock_nanosleep [blocked]", 1600, 0);
    thread_id tasks = builder_thread(&b, 11, "tasks");
    builder_run(&b, tasks, DUMPS, 2000, 2000);
    builder_run(&b, tasks, "write_all" LIB "connection.py:1:2 > write pipe [blocked]", 2000, 0);
    judge(4000);
    assert_told(0, "slow_files", "main spends 60% of its time reading /data/x");
    teardown();
}
END_TEST

/* Main waits for two who take turns: neither works for most of that, and all that they do is it. */
START_TEST(what_all_do_whom_the_leader_waits_for_counts)
{
    b = builder_start(10, "app");
    thread_id lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead, "main@/src/a.py:1:9 > futex [blocked]", 4000, 0);
    thread_id tasks = builder_thread(&b, 11, "tasks");
    builder_run(&b, tasks, DUMPS, 2000, 2000);
    builder_run(&b, tasks, "Pool._handle_tasks" LIB "pool.py:1:2 > futex [blocked]", 2000, 0);
    builder_process(&b, 20, "python3", "");
    thread_id worker = builder_thread(&b, 20, NULL);
    builder_run(&b, worker, LOADS " > read pipe [blocked]", 2000, 0);
    builder_run(&b, worker, LOADS, 2000, 2000);
    judge(4000);
    assert_told(0, "messages", "Passing data between processes takes 100% of the CPU time");
    teardown();
}
END_TEST

CHECK_MAIN("findings_messages", 20, what_it_costs_is_compared_with_what_else_takes_the_leaders_time,
           what_passing_data_costs_is_told, small_messages_are_told_from_large_ones,
           what_the_tasks_do_comes_first, who_passes_them_itself_is_no_others_while,
           what_all_do_whom_the_leader_waits_for_counts)
