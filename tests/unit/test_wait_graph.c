#include "summary/wait_graph.h"

#include "tests/support/check_main.h"

enum { PID = 10 };

static struct wait_graph graph;

static void add(pid_t tid, pid_t holder, enum wait_thing thing, bool timed)
{
    struct wait_side side = {.thing = thing, .timed = timed};
    if (holder) {
        side.blocker.kind = BLOCKER_THREAD;
        side.blocker.pid = PID;
        side.blocker.tid = holder;
    }
    wait_graph_add(&graph, PID, tid, &side, (uint32_t)tid);
}

START_TEST(circles_of_one_to_five_threads_are_found)
{
    for (int n = 1; n <= 5; n++) {
        for (int i = 0; i < n; i++)
            add(20 + i, 20 + (i + 1) % n, THING_MUTEX, false);
        add(30, 20, THING_MUTEX, false); /* behind it */
        add(31, 30, THING_THREAD, false);
        add(32, 0, THING_MUTEX, false);
        add(33, 32, THING_MUTEX, false); /* behind nobody's circle */
        add(34, 99, THING_MUTEX, false); /* whose holder is not recorded */
        wait_graph_link(&graph);
        ck_assert_int_eq(graph.n_cycles, 1);
        for (int i = 0; i < n; i++)
            ck_assert_int_eq(graph.items[i].cycle, 1);
        ck_assert_int_eq(graph.items[n].behind, 1);
        ck_assert_int_eq(graph.items[n + 1].behind, 1);
        for (int i = n + 2; i < n + 5; i++)
            ck_assert(!graph.items[i].cycle && !graph.items[i].behind);
        ck_assert_uint_eq(wait_graph_first(&graph, 1)->tag, 20);
        ck_assert(!wait_graph_is_timed(&graph, 1));
        wait_graph_release(&graph);
    }
}
END_TEST

START_TEST(circles_are_apart_and_one_of_another_process_is_no_part)
{
    add(20, 21, THING_MUTEX, false);
    add(21, 20, THING_GIL, true);
    add(22, 23, THING_MUTEX, true);
    add(23, 22, THING_MUTEX, false);
    struct wait_side side = {.thing = THING_MUTEX,
                             .blocker = {.kind = BLOCKER_THREAD, .pid = 11, .tid = 20}};
    wait_graph_add(&graph, PID, 24, &side, 24);
    side.blocker.kind = BLOCKER_GONE;
    side.blocker.pid = PID;
    wait_graph_add(&graph, PID, 25, &side, 25);
    wait_graph_link(&graph);
    ck_assert_int_eq(graph.n_cycles, 2);
    ck_assert(!wait_graph_is_timed(&graph, graph.items[0].cycle)); /* the GIL's time-out is none */
    ck_assert(wait_graph_is_timed(&graph, graph.items[2].cycle));
    ck_assert(!graph.items[4].behind && !graph.items[5].behind);
    wait_graph_release(&graph);
}
END_TEST

static void add_process(pid_t pid, pid_t tid, pid_t holder, enum wait_thing thing)
{
    struct wait_side side = {.thing = thing,
                             .blocker = {.kind = BLOCKER_PROCESS, .pid = holder, .tid = holder}};
    wait_graph_add(&graph, pid, tid, &side, (uint32_t)tid);
}

/* A process waits for its child, which writes to a pipe that the first one does not read. */
START_TEST(circles_go_through_processes_with_one_thread)
{
    add_process(40, 40, 41, THING_CHILD);
    add_process(41, 41, 40, THING_PIPE);
    add_process(42, 42, 40, THING_FILE_LOCK); /* behind them */
    add_process(43, 43, 44, THING_PIPE);      /* 44 has two threads: which is meant? */
    add_process(44, 44, 43, THING_CHILD);
    add_process(44, 45, 43, THING_CHILD);
    add_process(46, 46, 46, THING_PIPE); /* a handler of its signals may write to it */
    add_process(47, 47, 48, THING_CHILD);
    add_process(48, 48, 47, THING_PIPE);
    graph.items[graph.n - 1].side.blocker.tid =
        0; /* 47 has another thread, which is not recorded */
    wait_graph_link(&graph);
    ck_assert_int_eq(graph.n_cycles, 1);
    ck_assert(graph.items[0].cycle == 1 && graph.items[1].cycle == 1);
    ck_assert_int_eq(graph.items[2].behind, 1);
    ck_assert_int_eq(graph.items[3].next, WAIT_NOBODY);
    for (size_t i = 3; i < graph.n; i++)
        ck_assert(!graph.items[i].cycle && !graph.items[i].behind);
    wait_graph_release(&graph);
}
END_TEST

START_TEST(a_circle_that_is_none_is_dropped)
{
    add(20, 21, THING_MUTEX, false);
    add(21, 20, THING_MUTEX, false);
    add(22, 20, THING_MUTEX, false); /* behind it */
    add(23, 24, THING_MUTEX, true);
    add(24, 23, THING_MUTEX, false);
    add(25, 24, THING_MUTEX, false); /* behind the other */
    wait_graph_link(&graph);
    ck_assert_int_eq(graph.n_cycles, 2);
    wait_graph_drop(&graph, 1);
    ck_assert_int_eq(graph.n_cycles, 1);
    for (int i = 0; i < 3; i++)
        ck_assert(!graph.items[i].cycle && !graph.items[i].behind);
    ck_assert_int_eq(graph.items[0].next, WAIT_NOBODY);
    ck_assert_uint_eq(wait_graph_first(&graph, 1)->tag, 23);
    ck_assert_int_eq(graph.items[5].behind, 1);
    ck_assert(wait_graph_is_timed(&graph, 1));
    wait_graph_release(&graph);
}
END_TEST

CHECK_MAIN("wait_graph", 20, a_circle_that_is_none_is_dropped,
           circles_of_one_to_five_threads_are_found, circles_go_through_processes_with_one_thread,
           circles_are_apart_and_one_of_another_process_is_no_part)
