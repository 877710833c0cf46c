/* Alike threads that wait, within their work, for what a few of them have. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

enum { PID = 10, THREADS = 6, ROUNDS = 40, ROUND_MS = 100 };
#define SERVE "serve@/src/a.py:1:2 > "
#define GETS                                                                                       \
    "Queue.get@/usr/lib/python3.11/queue.py:1:2 > Condition.wait@/usr/lib/python3.11/"             \
    "threading.py:1:2 > sem_wait!libc.so.6 > futex [blocked]"
#define WAITS "take@/src/a.py:8:9 > " GETS
#define LOCKS                                                                                      \
    "SemLock.__enter__@/usr/lib/python3.11/multiprocessing/synchronize.py:1:2 > "                  \
    "0x7f0010!_multiprocessing.cpython-311-x86_64-linux-gnu.so > sem_wait!libc.so.6 > "            \
    "futex [blocked]"
#define CONNECT "Pool.connect@/venv/lib/python3.11/site-packages/pool/pool.py:1:2 > "
#define ASKS    "ask@/src/a.py:12:13 > recvfrom 10.0.0.7:5432 [blocked]"

/* THREADS of NAME, from TID on.  Of these PAST are past the wait in each round; by turns, if TURNS;
 * all of them in every fourth round, if CHANGES. */
struct crew {
    const char *name, *waits, *asks;
    int past;
    bool turns, changes;
};

static void add_crew(pid_t tid, const struct crew *c)
{
    for (int i = 0; i < THREADS; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "%s-%d", c->name, i);
        thread_id t = builder_thread(&b, tid + i, name);
        for (int k = 0; k < ROUNDS; k++) {
            int first = c->turns ? k % THREADS : 0;
            int past = !c->changes ? c->past : k % 4 ? 0 : THREADS;
            bool is_past = (i - first + THREADS) % THREADS < past;
            builder_run(&b, t, is_past ? c->asks : c->waits, ROUND_MS, 0);
        }
    }
}

static void setup(void)
{
    b = builder_start(PID, "app");
    builder_run(&b, builder_thread(&b, PID, NULL),
                "main@/src/a.py:30:31 > clock_nanosleep [blocked]", (int64_t)ROUNDS * ROUND_MS, 0);
}

static void judge_crew(const char *waits, const char *asks, int past, bool turns, bool changes)
{
    setup();
    add_crew(PID + 1, &(struct crew){"handler", waits, asks, past, turns, changes});
    judge((int64_t)ROUNDS * ROUND_MS);
}

/* Each thread serves one request: of 240 so many live at a time as a pool has. */
START_TEST(threads_that_come_and_go_are_counted_as_they_live)
{
    setup();
    for (int k = 0; k < ROUNDS; k++)
        for (int i = 0; i < THREADS; i++) {
            char name[20];
            (void)snprintf(name, sizeof name, "handler-%d", i);
            thread_id t = builder_thread(&b, PID + 1 + k * THREADS + i, name);
            profile_get_thread(b.p, t)->start_ns = (int64_t)k * ROUND_MS * NS_PER_MS;
            builder_run(&b, t,
                        i < 2 ? SERVE "handle@/src/a.py:5:6 > " ASKS
                              : SERVE "handle@/src/a.py:5:6 > " WAITS,
                        ROUND_MS, 0);
            profile_end_thread(b.p, t, (int64_t)(k + 1) * ROUND_MS * NS_PER_MS);
            profile_get_thread(b.p, t)->ended = true;
        }
    judge((int64_t)ROUNDS * ROUND_MS);
    ck_assert(is_said("On average 4.0 of 6 handler threads wait in take a.py:9 > condition, and "
                      "2.0 are past that"));
    teardown();
}
END_TEST

START_TEST(who_waits_for_what_a_few_have_is_told)
{
    judge_crew(SERVE "handle@/src/a.py:5:6 > " WAITS, SERVE "handle@/src/a.py:5:6 > " ASKS, 2,
               false, false);
    assert_told(
        0, "exhausted",
        "On average 4.0 of 6 handler threads wait in take a.py:9 > condition, and 2.0 are past "
        "that, in ask a.py:13 > recvfrom 10.0.0.7:5432. Either their pool (connections, buffers) "
        "is too small: release sooner, or enlarge it. Or the rest gets no work.");
    teardown();
    judge_crew(SERVE "handle@/src/a.py:5:6 > " WAITS, SERVE "handle@/src/a.py:5:6 > " ASKS, 1, true,
               false);
    assert_told(0, "exhausted", "On average 5.0 of 6 handler threads wait in take a.py:9");
    teardown();
    /* the function that works waits itself; a library's calls it */
    judge_crew("_worker@/usr/lib/python3.11/concurrent/futures/thread.py:1:2 > "
               "handle@/src/a.py:5:6 > " GETS,
               "_worker@/usr/lib/python3.11/concurrent/futures/thread.py:1:2 > "
               "handle@/src/a.py:5:7 > " ASKS,
               2, true, false);
    assert_told(0, "exhausted", "wait in handle a.py:6 > condition, and 2.0 are past that");
    teardown();
}
END_TEST

/* The library takes a connection from its pool, and asks.  Which ones have it changes: they stay
 * away from that wait for long, which is no stall. */
START_TEST(what_a_library_has_few_of_is_told)
{
#define URLOPEN                                                                                    \
    SERVE "handle@/src/a.py:5:6 > get@/venv/lib/python3.11/site-packages/requests/api.py:1:2 > "   \
          "urlopen@/venv/lib/python3.11/site-packages/urllib3/connectionpool.py:1:2 > "
    judge_crew(URLOPEN "_get_conn@/venv/lib/python3.11/site-packages/urllib3/connectionpool.py:3:4 "
                       "> " GETS,
               URLOPEN "_make_request@/venv/lib/python3.11/site-packages/urllib3/"
                       "connectionpool.py:5:6 > recvfrom 10.0.0.7:443 [blocked]",
               2, true, false);
    assert_told(0, "exhausted", "On average 4.0 of 6 handler threads wait in handle a.py:6 > ");
    ck_assert_uint_eq(found.n_printed, 1);
    teardown();
}
END_TEST

/* Who has one of what all wait for, and takes a second, waits in the same function of the pool. */
START_TEST(who_has_one_and_waits_for_another_is_told)
{
    static const char *const asks[] = {
        SERVE "handle@/src/a.py:5:6 > note@/src/a.py:14:15 > " CONNECT GETS,
        SERVE "handle@/src/a.py:5:6 > note@/src/a.py:14:15 > "
              "Log.flush@/venv/lib/python3.11/site-packages/log/log.py:1:2 > " GETS,
    };
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        judge_crew(SERVE "handle@/src/a.py:5:6 > " CONNECT GETS, asks[i], 2, false, false);
        ck_assert_int_eq(is_said("and 2.0 are past that, in note a.py:15 > Pool.connect > "
                                 "condition. Each of them has one of what all wait for, and waits "
                                 "there for another: release the first one before, or take no "
                                 "second."),
                         i == 0);
        ck_assert_int_eq(is_said("Or the rest gets no work."), i != 0);
        teardown();
    }
}
END_TEST

/* One of three has it; their parent, which is called the same, does something else. */
START_TEST(processes_take_turns_too)
{
    for (int siblings = 0; siblings < 2; siblings++) {
        b = builder_start(PID, "app");
        process_id parent = b.process;
        builder_run(&b, builder_thread(&b, PID, NULL), "main@/src/a.py:30:31 > wait4 [blocked]",
                    (int64_t)ROUNDS * ROUND_MS, 0);
        for (int i = 0; i < 3; i++) {
            builder_process(&b, PID + 1 + i, "app", "");
            profile_get_process(b.p, b.process)->parent = siblings ? parent : b.process;
            thread_id t = builder_thread(&b, PID + 1 + i, NULL);
            for (int k = 0; k < ROUNDS; k++)
                builder_run(&b, t,
                            k % 3 == i ? SERVE "update@/src/a.py:5:6 > " ASKS
                                       : SERVE "update@/src/a.py:5:6 > " LOCKS,
                            ROUND_MS, 0);
        }
        judge((int64_t)ROUNDS * ROUND_MS);
        if (siblings)
            assert_told(0, "exhausted", "On average 2.0 of 3 app processes wait in update a.py:6");
        else
            assert_not_told("exhausted");
        teardown();
    }
}
END_TEST

/* Idle workers wait for longer than those who wait for a connection. */
START_TEST(idle_workers_hide_nobody)
{
    static const struct crew told = {"handler",
                                     SERVE "handle@/src/a.py:5:6 > " WAITS,
                                     SERVE "handle@/src/a.py:5:6 > " ASKS,
                                     2,
                                     true,
                                     false},
                             idle = {"idler",
                                     SERVE "loop@/src/b.py:5:6 > " WAITS,
                                     SERVE "loop@/src/b.py:5:6 > " ASKS,
                                     0,
                                     false,
                                     true};
    for (int first = 0; first < 2; first++) {
        setup();
        add_crew(PID + 1, first ? &idle : &told);
        add_crew(PID + 1 + THREADS, first ? &told : &idle);
        judge((int64_t)ROUNDS * ROUND_MS);
        assert_told(0, "exhausted", "On average 4.0 of 6 handler threads wait in take a.py:9");
        teardown();
    }
}
END_TEST

/* For a result of another pool's; or another thread is busy meanwhile, as the consumer of a queue
 * that they fill. */
START_TEST(who_is_kept_by_others_is_not_told)
{
    judge_crew(SERVE "handle@/src/a.py:5:6 > Future.result@/usr/lib/python3.11/concurrent/futures/"
                     "_base.py:1:2 > Condition.wait@/usr/lib/python3.11/threading.py:1:2 > "
                     "sem_wait!libc.so.6 > futex [blocked]",
               SERVE "handle@/src/a.py:5:6 > " ASKS, 2, true, false);
    assert_not_told("exhausted");
    teardown();
    setup();
    add_crew(PID + 1, &(struct crew){"maker", SERVE "handle@/src/a.py:5:6 > " WAITS,
                                     SERVE "handle@/src/a.py:5:6 > " ASKS, 2, true, false});
    builder_run(&b, builder_thread(&b, PID + 50, "consumer"), "eat@/src/c.py:1:2",
                (int64_t)ROUNDS * ROUND_MS, (int64_t)ROUNDS * ROUND_MS);
    judge((int64_t)ROUNDS * ROUND_MS);
    assert_not_told("exhausted");
    teardown();
}
END_TEST

START_TEST(idle_workers_wait_for_nobody)
{
    /* in the loop that the thread begins with */
    judge_crew(SERVE WAITS, SERVE ASKS, 2, true, false);
    assert_not_told("exhausted");
    teardown();
    /* as many work as there is work for */
    judge_crew(SERVE "loop@/src/a.py:5:6 > " WAITS, SERVE "loop@/src/a.py:5:6 > " ASKS, 0, false,
               true);
    assert_not_told("exhausted");
    teardown();
    /* processes of the program's own: one reads the queue, the others wait for their turn */
    judge_crew(
        SERVE "loop@/src/a.py:5:6 > get@/usr/lib/python3.11/multiprocessing/queues.py:1:2 > " LOCKS,
        SERVE "loop@/src/a.py:5:6 > get@/usr/lib/python3.11/multiprocessing/queues.py:1:2 > "
              "read pipe [blocked]",
        1, true, false);
    assert_not_told("exhausted");
    teardown();
    /* a library's loop takes the work and does it */
    judge_crew(SERVE "run@/venv/lib/python3.11/site-packages/q/worker.py:1:2 > " GETS,
               SERVE "run@/venv/lib/python3.11/site-packages/q/worker.py:1:2 > " ASKS, 2, true,
               false);
    assert_not_told("exhausted");
    teardown();
    /* nobody has it: who waits for whom is unknown */
    judge_crew(SERVE "handle@/src/a.py:5:6 > " WAITS, SERVE "handle@/src/a.py:5:6 > " ASKS, 0,
               false, false);
    assert_not_told("exhausted");
    teardown();
}
END_TEST

/* Threads of a server: some wait for news for their client, the others for what theirs asks next;
 * of those for another server one may have what the first ones wait for. */
START_TEST(who_waits_for_a_client_has_nothing)
{
    static const struct blocker ends[] = {{.kind = BLOCKER_CLIENT, .net = NET_TCP},
                                          {.kind = BLOCKER_PEER, .net = NET_TCP, .port = 5432}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        setup();
        struct wait_side side = {.thing = THING_EVENTS};
        side.list = profile_list_blocker(b.p, &ends[i], (blocker_list){0});
        for (int k = 0; k < THREADS; k++) {
            char name[] = "handler-0";
            name[sizeof name - 2] = (char)('0' + k);
            thread_id t = builder_thread(&b, PID + 1 + k, name);
            if (k < 2)
                builder_run(&b, t, SERVE "handle@/src/a.py:5:6 > " WAITS,
                            (int64_t)ROUNDS * ROUND_MS, 0);
            else
                builder_polls(&b, t, SERVE "handle@/src/a.py:5:6 > read@/src/a.py:12:13", &side,
                              (int64_t)ROUNDS * ROUND_MS);
        }
        judge((int64_t)ROUNDS * ROUND_MS);
        bool told = false;
        for (size_t k = 0; k < found.n; k++)
            told |= found.items[k].words && strcmp(found.items[k].rule, "exhausted") == 0;
        ck_assert_int_eq(told, i == 1);
        teardown();
    }
}
END_TEST

CHECK_MAIN("findings_exhausted", 20, threads_that_come_and_go_are_counted_as_they_live,
           who_waits_for_a_client_has_nothing, idle_workers_hide_nobody,
           who_is_kept_by_others_is_not_told, who_waits_for_what_a_few_have_is_told,
           what_a_library_has_few_of_is_told, who_has_one_and_waits_for_another_is_told,
           processes_take_turns_too, idle_workers_wait_for_nobody)
