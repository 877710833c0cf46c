/* A main thread that waits for a pool in which one has all the work. */
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

#define RESULT                                                                                     \
    "serve@/src/a.py:1:2 > Future.result@/usr/lib/python3.11/concurrent/futures/_base.py:1:2"
#define FOR_WORK                                                                                   \
    "_worker@/usr/lib/python3.11/concurrent/futures/thread.py:1:2 > sem_wait!python3 > "           \
    "futex [blocked]"

enum { MS = 4000, WORKERS = 4 };

/* Main waits in WAIT.  The first of four workers works all the time, the others for WORK_MS. */
static void judge_pool(const char *wait, int64_t work_ms, const char *keeper)
{
    b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), wait, MS, 0);
    for (int i = 0; i < WORKERS; i++) {
        char name[] = "pool_0";
        name[sizeof name - 2] = (char)('0' + i);
        thread_id t = builder_thread(&b, 11 + i, name);
        int64_t ms = i ? work_ms : MS;
        builder_run(&b, t, "render@/src/a.py:5:6", ms, ms);
        if (ms < MS)
            builder_run(&b, t, FOR_WORK, MS - ms, 0);
    }
    if (keeper)
        builder_run(&b, builder_thread(&b, 20, "feeder"), keeper, MS,
                    strstr(keeper, "[blocked]") ? 0 : MS);
    judge(MS);
}

START_TEST(who_has_all_the_work_is_told)
{
    judge_pool(RESULT " > sem_wait!python3 > futex [blocked]", 400, NULL);
    assert_told(0, "uneven", "main waits 100% of its time in serve a.py:2 > Future.result");
    assert_told(0, "uneven",
                "On average 1.3 of 4 pool threads have work then; for 90% of that time one works "
                "alone, in render a.py:6. To balance it, make tasks smaller");
    assert_not_told("waits_meanwhile");
    teardown();
}
END_TEST

START_TEST(who_keeps_a_pool_from_work_is_told)
{
    judge_pool(RESULT " > sem_wait!python3 > futex [blocked]", 400, "dump@/src/b.py:1:9");
    assert_told(0, "uneven",
                "Meanwhile feeder is at work for 100% of that time, mainly in dump b.py:9.");
    assert_told(0, "uneven",
                "On average 1.3 of 4 pool threads have work then, and the others wait");
    teardown();
}
END_TEST

/* As logging's QueueListener, which waits for the next record. */
START_TEST(who_only_waits_keeps_nobody_from_work)
{
    judge_pool(RESULT " > sem_wait!python3 > futex [blocked]", 400,
               "_monitor@/src/b.py:1:9 > recvfrom socket [blocked]");
    assert_told(0, "uneven", "for 90% of that time one works alone, in render a.py:6.");
    teardown();
}
END_TEST

START_TEST(a_pool_with_work_is_not_told)
{
    judge_pool(RESULT " > sem_wait!python3 > futex [blocked]", 3600, NULL);
    assert_not_told("uneven");
    teardown();
}
END_TEST

/* As of a server with few requests: main waits for nobody's result. */
START_TEST(a_single_wait_for_anything_is_not_told)
{
    judge_pool("serve@/src/a.py:1:2 > sem_wait!python3 > futex [blocked]", 400, NULL);
    assert_not_told("uneven");
    teardown();
}
END_TEST

/* One of C++'s, whose threads wait for a condition in the function that takes the next task. */
START_TEST(who_has_all_the_work_of_a_pool_of_ones_own_is_told)
{
    static const char wait[] = "main!app > pthread_cond_wait!libc.so.6 > futex [blocked]";
    static const char wait_for_work[] =
        "run!app > work!app > pthread_cond_wait!libc.so.6 > futex [blocked]";
    thread_id threads[WORKERS];
    static const char *const works[] = {"run!app > work!app > render!app", "run!app > render!app",
                                        "other!app > render!app"};
    for (size_t how = 0; how < 3; how++) { /* in the last it waits elsewhere for something */
        b = builder_start(10, "app");
        thread_id lead = builder_thread(&b, 10, NULL);
        for (int i = 0; i < 5; i++) {
            builder_run(&b, lead, wait, MS / 5 - 10, 0);
            builder_run(&b, lead, "main!app", 10, 10);
        }
        for (int i = 0; i < WORKERS * WORKERS; i++) { /* each is the last one in its turn */
            const bool last = i / WORKERS == i % WORKERS;
            const int64_t work_ms = last ? MS / WORKERS : 100;
            thread_id t = i < WORKERS ? builder_thread(&b, 11 + i, "pool") : threads[i % WORKERS];
            threads[i % WORKERS] = t;
            builder_run(&b, t, works[how], work_ms, work_ms);
            if (!last)
                builder_run(&b, t, wait_for_work, MS / WORKERS - work_ms, 0);
        }
        judge(MS);
        if (how < 2)
            assert_told(0, "uneven",
                        how ? "On average 1.3 of 4 pool threads have work then; for 90% of that "
                              "time one works alone, in run > render. To balance it, make tasks "
                              "smaller and start the longest first; and wake a thread for each: "
                              "notify_one() for several lets the others sleep."
                            : "of that time one works alone, in work > render. To balance it, ");
        else
            assert_not_told("uneven");
        teardown();
    }
}
END_TEST

/* Each rests for a quarter of the time, in turn: there is always one with work.  Threads that are
 * no pool's may work for anybody. */
START_TEST(whose_results_are_waited_for_is_told)
{
    static const char *const works[] = {
        "_worker@/usr/lib/python3.11/concurrent/futures/thread.py:1:2 > render@/src/a.py:5:6",
        "render@/src/a.py:5:6"};
    for (size_t how = 0; how < 2; how++) {
        b = builder_start(10, "app");
        builder_run(&b, builder_thread(&b, 10, NULL),
                    RESULT " > sem_wait!python3 > futex [blocked]", MS, 0);
        for (int i = 0; i < WORKERS; i++) {
            thread_id t = builder_thread(&b, 11 + i, "pool");
            for (int turn = 0; turn < WORKERS; turn++)
                builder_run(&b, t, turn == i ? FOR_WORK : works[how], MS / WORKERS,
                            turn == i ? 0 : MS / WORKERS);
        }
        judge(MS);
        if (how == 0)
            assert_told(0, "waits_meanwhile",
                        "Meanwhile 4 pool threads are 75% in render a.py:6: 75% of main's time "
                        "ends there.");
        else
            assert_not_told("waits_meanwhile");
        teardown();
    }
}
END_TEST

/* Processes whose main threads hand work to threads of theirs, as Dask's workers. */
START_TEST(main_threads_that_do_not_work_themselves_are_no_pool)
{
    for (int others = 0; others < 2; others++) {
        b = builder_start(10, "app");
        builder_run(&b, builder_thread(&b, 10, NULL),
                    RESULT " > sem_wait!python3 > futex [blocked]", MS, 0);
        for (pid_t pid = 20; pid < 24; pid++) {
            builder_process(&b, pid, "worker", "");
            profile_get_process(b.p, b.process)->parent = (process_id){1};
            thread_id t = builder_thread(&b, pid, NULL);
            const int64_t ms = pid == 20 ? MS - 400 : 400;
            builder_run(&b, t, "render@/src/a.py:5:6", ms, ms);
            builder_run(&b, t, FOR_WORK, MS - ms, 0);
            if (others)
                builder_run(&b, builder_thread(&b, pid + 10, "task"), "sum@/src/a.py:8:9", MS, MS);
        }
        judge(MS);
        bool told = false;
        for (size_t i = 0; i < found.n; i++)
            told |= found.items[i].words && strcmp(found.items[i].rule, "uneven") == 0;
        ck_assert_int_eq(told, !others);
        teardown();
    }
}
END_TEST

CHECK_MAIN("findings_uneven", 20, main_threads_that_do_not_work_themselves_are_no_pool,
           who_has_all_the_work_of_a_pool_of_ones_own_is_told, who_has_all_the_work_is_told,
           who_keeps_a_pool_from_work_is_told, who_only_waits_keeps_nobody_from_work,
           whose_results_are_waited_for_is_told, a_pool_with_work_is_not_told,
           a_single_wait_for_anything_is_not_told)
