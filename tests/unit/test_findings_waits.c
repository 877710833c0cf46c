/* What a wait means where its function's name does not say so, and whose waits are told. */
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

#define LOOP "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:2 > "
static const char asks[] = "serve@/src/a.py:1:2 > ask@/src/a.py:5:6 > "
                           "recvfrom 10.0.0.7:5432 [blocked]";
static thread_id lead;

static void setup(void)
{
    b = builder_start(10, "app");
    lead = builder_thread(&b, 10, NULL);
}

static bool is_said(const char *words)
{
    bool said = false;
    for (size_t i = 0; i < found.n_printed; i++)
        said |= strstr(found.printed[i]->words, words) != NULL;
    return said;
}

/* ---- SQLite ---- */

START_TEST(a_sleep_of_sqlite_is_a_wait_for_its_lock)
{
    static const struct {
        const char *stack;
        bool waits;
    } cases[] = {
        {"sell@/src/a.py:1:2 > sqlite3_step!libsqlite3.so.0 > usleep!libc.so.6 > "
         "clock_nanosleep [blocked]",
         true},
        {"sell!shop > sqlite3_step!shop > unixSleep!libsqlite3.so.0 > clock_nanosleep [blocked]",
         true},
        {"sell!shop > sqlite3_sleep!libsqlite3.so.0 > usleep!libc.so.6 > "
         "clock_nanosleep [blocked]",
         false}, /* the program's own sleep */
        {"sqlite3_exec!libsqlite3.so.0 > on_row!shop > usleep!libc.so.6 > "
         "clock_nanosleep [blocked]",
         false}, /* a function of its own that SQLite calls */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup();
        builder_run(&b, lead, cases[i].stack, 3900, 0);
        builder_run(&b, lead, "sell@/src/a.py:1:2", 100, 100);
        judge(4000);
        ck_assert(is_said("main waits 98%") == cases[i].waits);
        ck_assert(is_said("main sleeps 98%") == !cases[i].waits);
        ck_assert(is_said("SQLite tries again there: another connection has the database "
                          "locked.") == cases[i].waits);
        teardown();
    }
}
END_TEST

START_TEST(a_retry_is_told_also_where_nobody_ran)
{
    setup();
    for (int i = 0; i < 40; i++) {
        builder_run(&b, lead,
                    "sell!shop > sqlite3_step!shop > usleep!libc.so.6 > clock_nanosleep [blocked]",
                    99, 0);
        builder_run(&b, lead, "sell!shop > sqlite3_step!shop", 1, 0);
    }
    judge(4000);
    assert_not_told("none_ran");
    ck_assert(is_said("main waits 99% of its time in sell > sqlite3_step"));
    ck_assert(is_said("SQLite tries again there"));
    teardown();
}
END_TEST

/* ---- the end of a process ---- */

START_TEST(what_a_queues_process_waits_for_is_told)
{
    setup();
    builder_run(&b, lead,
                "work@/src/a.py:1:2 > _finalize_join@/usr/lib/python3.9/multiprocessing/"
                "queues.py:1:2 > read pipe [blocked]",
                3900, 0);
    builder_run(&b, lead, "work@/src/a.py:1:2", 100, 100);
    judge(4000);
    ck_assert(is_said("The process ends only when all that it has put into its queue is read."));
    teardown();
}
END_TEST

/* ---- event loops ---- */

START_TEST(what_keeps_a_loop_from_polling_is_told)
{
    setup();
    builder_run(&b, lead, LOOP "load@/src/a.py:5:6 > clock_nanosleep [blocked]", 4000, 0);
    judge(4000);
    ck_assert(is_said("That keeps its event loop (asyncio) from polling."));
    teardown();
    setup(); /* a loop that polls now and then */
    for (int i = 0; i < 10; i++) {
        builder_run(&b, lead, LOOP "load@/src/a.py:5:6 > clock_nanosleep [blocked]", 300, 0);
        builder_run(&b, lead, LOOP "epoll_wait eventpoll [blocked]", 100, 0);
    }
    judge(4000);
    ck_assert(!is_said("from polling"));
    teardown();
    setup(); /* no loop */
    builder_run(&b, lead, "load@/src/a.py:5:6 > clock_nanosleep [blocked]", 4000, 0);
    judge(4000);
    ck_assert(!is_said("from polling"));
    teardown();
}
END_TEST

/* ---- threads that serve ---- */

/* Main polls for all but BUSY_MS of 4 s, and two threads are in STACK. */
static void judge_server(const char *stack, int64_t busy_ms)
{
    setup();
    builder_run(&b, lead, "serve@/src/a.py:1:2 > epoll_wait eventpoll [blocked]", 4000 - busy_ms,
                0);
    if (busy_ms)
        builder_run(&b, lead, "serve@/src/a.py:1:2", busy_ms, busy_ms);
    builder_run(&b, builder_thread(&b, 11, "request-1"), stack, 4000, 0);
    builder_run(&b, builder_thread(&b, 12, "request-2"), stack, 4000, 0);
    judge(4000);
}

START_TEST(where_main_is_idle_the_threads_that_serve_are_told_of)
{
    static const char *const of_idle[] = {
        "serve@/src/a.py:1:2 > futex [blocked]",
        "serve!app > pthread_cond_wait!libc.so.6 > futex [blocked]",
        "serve@/src/a.py:1:2 > accept socket:[1] [blocked]",
        "serve@/src/a.py:1:2 > read pipe [blocked]",
        "run@/usr/lib/python3.11/site-packages/pool.py:1:2 > poll [blocked]",
    };
    judge_server(asks, 0);
    assert_told(0, "waits",
                "request-1 and request-2 wait 100% of their time in ask a.py:6 > "
                "recvfrom 10.0.0.7:5432.");
    teardown();
    judge_server("serve@/src/a.py:1:2 > ask@/src/a.py:5:6 > poll [blocked]", 0);
    assert_told(0, "waits",
                "request-1 and request-2 wait 100% of their time in ask a.py:6 > poll.");
    teardown();
    judge_server(asks, 700); /* main starts threads, say */
    ck_assert(is_said("request-1 and request-2 wait 100% of their time in ask a.py:6"));
    teardown();
    judge_server(asks, 2000); /* main has something to do itself */
    ck_assert(!is_said("ask"));
    teardown();
    for (size_t i = 0; i < sizeof of_idle / sizeof *of_idle; i++) {
        judge_server(of_idle[i], 0);
        assert_not_told("waits");
        teardown();
    }
}
END_TEST

CHECK_MAIN("findings_waits", 20, a_sleep_of_sqlite_is_a_wait_for_its_lock,
           a_retry_is_told_also_where_nobody_ran, what_a_queues_process_waits_for_is_told,
           what_keeps_a_loop_from_polling_is_told,
           where_main_is_idle_the_threads_that_serve_are_told_of)
