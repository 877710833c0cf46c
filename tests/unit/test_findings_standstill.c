/* Findings where nothing goes on: nobody runs, or a process is stopped. */
#include <string.h>

#include "base/clock.h"
#include "summary/findings.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

static thread_id lead;
static const char pool_wait[] = "_worker@/usr/lib/python3.11/concurrent/futures/thread.py:66:81 > "
                                "futex [blocked]";
static const char asks[] =
    "main@/src/a.py:1:2 > ask@/src/a.py:5:6 > recvfrom 10.0.0.7:5432 [blocked]";

static void setup(void)
{
    b = builder_start(10, "app");
    lead = builder_thread(&b, 10, NULL);
}

/* Main is in STACK, and N threads of a pool wait for work, for 6 s. */
static void judge_pool(const char *stack, pid_t n)
{
    setup();
    builder_run(&b, lead, stack, 6000, 0);
    for (pid_t i = 1; i <= n; i++)
        builder_run(&b, builder_thread(&b, 10 + i, "pool"), pool_wait, 6000, 0);
    judge(6000);
}

START_TEST(who_all_wait_for_work_are_not_stuck)
{
    judge_pool(pool_wait, 11);
    ck_assert_uint_eq(found.n_printed, 1);
    assert_told(0, "none_ran", "None of the 12 threads ran in 6.0 s: all wait for work.");
    teardown();
    judge_pool(pool_wait, 0);
    assert_told(0, "none_ran", "The only thread did not run in 6.0 s: it waits for work.");
    teardown();
}
END_TEST

/* Nobody comes: that is no fault.  An answer that does not come may be one. */
START_TEST(a_server_without_clients_is_idle)
{
    for (int answer = 0; answer <= 1; answer++) {
        struct wait_side side = {
            .thing = THING_SOCKET,
            .blocker = {.kind = answer ? BLOCKER_PEER : BLOCKER_LISTENER,
                        .net = NET_TCP,
                        .port = 80},
        };
        setup();
        side.blocker.host = profile_string(b.p, "127.0.0.1");
        builder_polls(&b, lead, "main@/src/a.py:1:2 > serve@/src/a.py:5:6", &side, 4000);
        judge(4000);
        assert_told(0, "none_ran",
                    answer ? "The only thread did not run in 4.0 s. main waits in serve a.py:6"
                           : "The only thread is idle: it did not run in 4.0 s. main waits in");
        teardown();
    }
}
END_TEST

/* Who reads what it has to write itself waits for ever, if no other thread does. */
START_TEST(who_waits_for_its_own_end_of_a_pipe_is_told)
{
    for (int threads = 1; threads <= 2; threads++) {
        struct wait_side own = {
            .thing = THING_PIPE,
            .blocker = {.kind = BLOCKER_PROCESS, .pid = 10},
        };
        setup();
        builder_polls(&b, lead, "main@/src/a.py:1:2 > read@/src/a.py:5:6", &own, 4000);
        if (threads == 2)
            builder_run(&b, builder_thread(&b, 11, "other"), asks, 4000, 0);
        judge(4000);
        assert_told(0, "none_ran", "It waits for a pipe whose other end is in the same process.");
        ck_assert_int_eq(is_said("No other thread is there to end that wait."), threads == 1);
        teardown();
    }
}
END_TEST

/* A client that does not ask is no fault, unless others wait for their turn meanwhile. */
START_TEST(a_server_that_waits_for_one_client_is_idle_if_others_are_accepted)
{
    for (int accepts = 0; accepts <= 1; accepts++) {
        struct wait_side client = {
            .thing = THING_SOCKET,
            .blocker = {.kind = BLOCKER_CLIENT, .net = NET_TCP, .port = 3456, .local_port = 80},
        };
        struct wait_side listener = {
            .thing = THING_SOCKET,
            .blocker = {.kind = BLOCKER_LISTENER, .net = NET_TCP, .port = 80},
        };
        setup();
        builder_polls(&b, lead, "main@/src/a.py:1:2 > read@/src/a.py:5:6", &client, 4000);
        if (accepts)
            builder_polls(&b, builder_thread(&b, 11, "door"), "welcome@/src/a.py:1:2", &listener,
                          4000);
        judge(4000);
        assert_told(0, "none_ran",
                    accepts ? "Both threads are idle: neither ran in 4.0 s. main waits in"
                            : "The only thread did not run in 4.0 s. main waits in");
        ck_assert_int_eq(is_said("Meanwhile no recorded thread accepts another client."), !accepts);
        teardown();
    }
}
END_TEST

/* It runs for an instant at a time, but it goes on. */
START_TEST(who_wakes_up_again_and_again_goes_on)
{
    for (uint64_t wakes = 0; wakes <= 40; wakes += 40) {
        setup();
        builder_run(&b, lead, asks, 3998, 0);
        builder_run(&b, lead, "main@/src/a.py:1:2", 2, 2);
        builder_run(&b, lead, asks, 500, 0);
        profile_get_thread(b.p, lead)->usage.voluntary = wakes;
        judge(4500);
        if (wakes)
            assert_not_told("none_ran");
        else
            assert_told(0, "none_ran", "The only thread did not run more than an instant in 4.5 s");
        teardown();
    }
}
END_TEST

START_TEST(what_cannot_be_told_is_said_so)
{
    judge_pool("main@/src/a.py:1:2 > take@/src/a.py:5:6 > futex [blocked]", 11);
    assert_told(0, "none_ran",
                "None of the 12 threads ran in 6.0 s. main waits in take a.py:6. Whom it waits for "
                "could not be read: idle or stuck cannot be told from here.");
    teardown();
}
END_TEST

/* The leader's wait is none of the user's code. */
START_TEST(who_hangs_beside_idle_workers_is_told)
{
    setup();
    builder_run(&b, lead, "loop@/usr/lib/python3/site-packages/xdist/d.py:1:2 > futex [blocked]",
                6000, 0);
    builder_process(&b, 20, "worker", NULL);
    builder_run(&b, builder_thread(&b, 20, NULL), pool_wait, 6000, 0);
    builder_process(&b, 30, "worker", NULL);
    builder_run(&b, builder_thread(&b, 30, NULL),
                "run@/usr/lib/python3/site-packages/pytest.py:1:2 > test_x@/src/test_a.py:5:12 > "
                "recvfrom 10.0.0.7:5432 [blocked]",
                6000, 0);
    judge(6000);
    assert_told(0, "none_ran",
                "None of the 3 threads ran in 6.0 s. 30 (worker) waits in test_x test_a.py:12.");
    teardown();
}
END_TEST

START_TEST(a_result_that_does_not_come_is_told)
{
    static const char waits[] = "main@/src/a.py:1:2 > "
                                "ApplyResult.wait@/lib/multiprocessing/pool.py:1:2 > "
                                "futex [blocked]";
    static const char works[] = "worker@/lib/multiprocessing/pool.py:1:2 > futex [blocked]";
    for (int busy = 0; busy < 2; busy++) {
        setup();
        builder_run(&b, lead, waits, 6000, 0);
        for (pid_t pid = 20; pid < 22; pid++) {
            builder_process(&b, pid, "worker", NULL);
            builder_run(&b, builder_thread(&b, pid, NULL), busy ? asks : works, 6000, 0);
        }
        judge(6000);
        if (!busy)
            assert_told(0, "none_ran",
                        "All workers of its pool wait for work, so that result will not come");
        for (size_t i = 0; i < found.n_printed && busy; i++)
            ck_assert_ptr_null(strstr(found.printed[i]->words, "does not come"));
        teardown();
    }
}
END_TEST

/* A worker is killed after 0.4 s of work, and another takes its place. */
/* A task that waits for another one of its own pool; in the second case a thread is free for it. */
START_TEST(a_pool_whose_tasks_wait_for_it_is_told)
{
    static const char *const waits[] = {
        "_worker@/usr/lib/python3.11/concurrent/futures/thread.py:66:81 > render@/src/a.py:3:4 > "
        "Future.result@/usr/lib/python3.11/concurrent/futures/_base.py:1:2 > futex [blocked]",
        "Pool::run!app > render!app > "
        "std::__atomic_futex_unsigned_base::_M_futex_wait_until!libstdc++.so.6 > futex [blocked]",
    };
    for (int how = 0; how < 4; how++) {
        setup();
        builder_run(&b, lead, "main@/src/a.py:1:2 > draw@/src/a.py:5:6 > futex [blocked]", 6000, 0);
        for (pid_t i = 1; i <= 2; i++)
            builder_run(&b, builder_thread(&b, 10 + i, "pool"), waits[how / 2], 6000, 0);
        if (how % 2)
            builder_run(&b, builder_thread(&b, 20, "pool"), pool_wait, 6000, 0);
        judge(6000);
        ck_assert_int_eq(is_said(" If these are results of tasks of their own pool, no thread "
                                 "is left to run them: wait outside"),
                         how % 2 == 0);
        teardown();
    }
}
END_TEST

/* A worker is killed after 0.4 s of work, and another takes its place. */
START_TEST(who_ran_before_the_standstill_does_not_hide_it)
{
    setup();
    thread_id killed = builder_thread(&b, 11, NULL);
    builder_run(&b, killed, "work@/src/a.py:1:2", 400, 390);
    profile_get_thread(b.p, killed)->ended = true;
    builder_run(&b, lead, "main@/src/a.py:1:2", 400, 200);
    builder_run(&b, lead, "main@/src/a.py:1:2 > take@/src/a.py:5:6 > futex [blocked]", 3600, 0);
    builder_run(&b, builder_thread(&b, 12, "pool"), pool_wait, 4000, 0);
    judge(4000);
    assert_told(0, "none_ran", "Neither thread ran in the last 3.6 s. main waits in take");
    teardown();
}
END_TEST

START_TEST(a_stopped_process_is_told)
{
    setup();
    builder_stopped(&b, lead, "main!app > read!libc.so.6", "/dev/tty", 6000);
    judge(6000);
    assert_told(0, "stopped",
                "10 (app) is stopped because its job reads /dev/tty in the background (SIGTTIN)");
    ck_assert_uint_eq(found.n_printed, 1);
    teardown();
    setup();
    builder_stopped(&b, lead, "main!app", NULL, 6000);
    builder_stopped(&b, builder_thread(&b, 11, "w"), "w!app", NULL, 6000);
    judge(6000);
    assert_told(0, "stopped",
                "Both threads of 10 (app) are stopped by a signal (SIGSTOP, or Ctrl-Z's SIGTSTP): "
                "kill -CONT 10 resumes it.");
    teardown();
    setup(); /* docker pause */
    builder_run(&b, lead, "main!app > f!app > [frozen]", 6000, 0);
    judge(6000);
    assert_told(0, "stopped", "10 (app) is frozen with the cgroup (docker pause");
    teardown();
    setup(); /* what it did before is no news */
    builder_run(&b, lead,
                "main@/src/a.py:1:2 > _find_and_load@<frozen importlib._bootstrap>:1:2 > "
                "<module>@/v/site-packages/numpy/__init__.py:1:2 > [frozen]",
                6000, 0);
    judge(6000);
    assert_told(0, "stopped", "is frozen");
    ck_assert_uint_eq(found.n_printed, 1);
    teardown();
    setup(); /* it went on */
    builder_stopped(&b, lead, "main!app", NULL, 3000);
    builder_run(&b, lead, "main!app > f!app", 3000, 3000);
    judge(6000);
    assert_not_told("stopped");
    teardown();
}
END_TEST

START_TEST(who_waits_for_a_stopped_process_is_told)
{
    setup();
    builder_run(&b, lead, asks, 6000, 0);
    builder_process(&b, 20, "sh", NULL);
    builder_stopped(&b, builder_thread(&b, 20, NULL), "main!sh", NULL, 6000);
    judge(6000);
    assert_told(0, "stopped", "kill -CONT 20 resumes it. 10 (app) waits in ask a.py:6.");
    teardown();
}
END_TEST

/* A child of PID that is not recorded, and ran for CPU_MS. */
static void add_child(pid_t pid, int64_t cpu_ms)
{
    const struct profile_child child = {.pid = pid, .cpu_ns = cpu_ms * NS_PER_MS};
    profile_set_children(b.p, b.process, &child, 1);
}

static const char waits_for_child[] = "run!sh > wait4 [blocked]";

/* A server's main thread computes: which shell waits for what is another matter. */
START_TEST(who_only_waits_for_children_does_not_hide_one_that_works)
{
    b = builder_start(10, "server");
    builder_run(&b, builder_thread(&b, 10, NULL), "serve!server > sort!server", 4000, 4000);
    builder_process(&b, 20, "sh", NULL);
    builder_run(&b, builder_thread(&b, 20, NULL), waits_for_child, 4000, 0);
    add_child(21, 2000);
    judge(4000);
    assert_told(1, "computes", "100% in serve > sort");
    assert_told(0, "only_children",
                "20 (sh) only waits for its children, which used 0.5 CPU and are not sampled.");
    teardown();
}
END_TEST

/* A child that works beside a wait for another machine is not what is waited for. */
START_TEST(who_waits_for_another_machine_waits_for_no_child)
{
    for (int remote = 0; remote < 2; remote++) {
        struct wait_side side = {.thing = THING_SOCKET,
                                 .blocker = {.kind = BLOCKER_PEER, .net = NET_TCP, .port = 443}};
        b = builder_start(10, "train");
        side.blocker.host = profile_string(b.p, remote ? "52.1.1.1" : "127.0.0.1");
        lead = builder_thread(&b, 10, NULL);
        builder_polls(&b, lead, "load@/src/t.py:1:20", &side, 3900);
        builder_run(&b, lead, "load@/src/t.py:1:21", 100, 100);
        add_child(21, 2000);
        judge(4000);
        if (remote)
            assert_told(0, "waits", "main waits 98% of its time in load t.py:20");
        else
            assert_told(0, "only_children", "10 (train) only waits for its children");
        teardown();
    }
}
END_TEST

START_TEST(many_may_wait_for_children_that_do_nothing)
{
    enum { MANY = 2 * MAX_FIGURES };
    b = builder_start(10, "sh");
    for (pid_t pid = 10; pid < 10 + MANY; pid++) {
        if (pid > 10)
            builder_process(&b, pid, "sh", NULL);
        builder_run(&b, builder_thread(&b, pid, NULL), waits_for_child, 4000, 0);
        add_child(pid + MANY, 1);
    }
    judge(4000);
    assert_not_told("only_children");
    teardown();
}
END_TEST

/* Another thread goes on, so that nobody is stuck. */
START_TEST(a_handler_that_interrupted_malloc_is_told)
{
    b = builder_start(10, "crawler");
    lead = builder_thread(&b, 10, NULL);
    thread_id timer = builder_thread(&b, 11, "timer");
    builder_run(&b, lead,
                "crawl!app > malloc!libc.so.6 > _int_malloc!libc.so.6 > __restore_rt!libc.so.6 > "
                "report!app > malloc!libc.so.6 > __lll_lock_wait_private!libc.so.6 > futex "
                "[blocked]",
                4000, 0);
    for (int i = 0; i < 400; i++)
        builder_run(&b, timer, "tick!app > clock_nanosleep [blocked]", 10, 0);
    judge(4000);
    assert_told(0, "malloc_arena",
                "for a malloc arena's lock, in report, called from crawl. It is in a signal "
                "handler, which interrupted what has this lock");
    teardown();
}
END_TEST

CHECK_MAIN("findings_standstill", 20, a_handler_that_interrupted_malloc_is_told,
           a_pool_whose_tasks_wait_for_it_is_told,
           who_only_waits_for_children_does_not_hide_one_that_works,
           who_waits_for_another_machine_waits_for_no_child,
           many_may_wait_for_children_that_do_nothing, who_all_wait_for_work_are_not_stuck,
           what_cannot_be_told_is_said_so, a_server_without_clients_is_idle,
           who_waits_for_its_own_end_of_a_pipe_is_told,
           a_server_that_waits_for_one_client_is_idle_if_others_are_accepted,
           who_wakes_up_again_and_again_goes_on, who_hangs_beside_idle_workers_is_told,
           a_result_that_does_not_come_is_told, who_ran_before_the_standstill_does_not_hide_it,
           a_stopped_process_is_told, who_waits_for_a_stopped_process_is_told)
