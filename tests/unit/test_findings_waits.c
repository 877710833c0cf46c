/* What a wait means where its function's name does not say so, and whose waits are told. */
#include <string.h>

#include "base/clock.h"
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

/* What a function of the user's waits for that it calls is another wait. */
START_TEST(what_a_queues_process_waits_for_is_told)
{
#define ENDS "work@/src/a.py:1:2 > _finalize_join@/usr/lib/python3.9/multiprocessing/queues.py:1:2"
    static const char *const waits[] = {
        ENDS " > read pipe [blocked]",
        ENDS " > give_up@/src/a.py:5:6 > read pipe [blocked]",
    };
    for (int own = 0; own <= 1; own++) {
        setup();
        builder_run(&b, lead, waits[own], 3900, 0);
        builder_run(&b, lead, "work@/src/a.py:1:2", 100, 100);
        judge(4000);
        ck_assert_int_eq(is_said("The process cannot exit before its queue has been read."), !own);
        teardown();
    }
}
END_TEST

/* ---- event loops ---- */

START_TEST(what_keeps_a_loop_from_polling_is_told)
{
    setup();
    builder_run(&b, lead, LOOP "load@/src/a.py:5:6 > clock_nanosleep [blocked]", 4000, 0);
    judge(4000);
    ck_assert(
        is_said("That keeps its event loop (asyncio) from polling: all else that it serves waits"));
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

/* Main polls N times in the stack POLLS, and is in STACK between. */
static void judge_polls(int n, const char *polls, const char *stack, const struct wait_side *side)
{
    setup();
    for (int i = 0; i < n; i++) {
        builder_polls(&b, lead, polls, side, 3000 / n);
        builder_run(&b, lead, stack, 1000 / n, 1000 / n);
    }
    judge(4000);
}

/* It is recorded, and so is what it does then; what it did before is none of that. */
START_TEST(what_the_process_at_the_other_end_does_is_told)
{
    static const struct wait_side side = {.thing = THING_PIPE,
                                          .blocker = {.kind = BLOCKER_PROCESS, .pid = 20}};
    for (pid_t pid = 20; pid <= 21; pid++) {
        setup();
        builder_run(&b, lead, "pack@/src/a.py:1:2", 800, 800);
        builder_polls(&b, lead, "pack@/src/a.py:1:3", &side, 3200);
        builder_process(&b, pid, "squeeze", "");
        thread_id other = builder_thread(&b, pid, NULL);
        builder_run(&b, other, "main!squeeze > rest!squeeze", 800, 800);
        builder_run(&b, other, "main!squeeze > code!squeeze", 3200, 3200);
        judge(4000);
        ck_assert_int_eq(is_said("Meanwhile 20 (squeeze) is 100% in code."), pid == 20);
        teardown();
    }
}
END_TEST

/* A C++ pool whose tasks wait for others of it; the functions that wait have no names. */
START_TEST(who_may_wake_a_thread_in_a_futex_is_told)
{
    setup();
    builder_run(&b, lead, "main!app > futex [blocked]", 4000, 0);
    for (pid_t tid = 11; tid <= 13; tid++) {
        thread_id t = builder_thread(&b, tid, "pool");
        builder_run(&b, t, "run!app > order!app > futex [blocked]", 2800, 0);
        builder_run(&b, t, "run!app > price!app > recvfrom 10.0.0.7:80 [blocked]", 1100, 0);
        builder_run(&b, t, "run!app > price!app", 100, 100);
    }
    judge(4000);
    ck_assert(is_said(" 3 pool threads are 70% in run > order > futex."));
    teardown();
}
END_TEST

/* The server of a recorded client waits for its next request: that one keeps nobody; nor does it
 * keep who hardly ever ran. */
START_TEST(a_server_is_not_kept_by_its_clients)
{
    for (int how = 0; how < 3; how++) {
        bool listens = how == 1;
        bool works = how < 2;
        struct wait_side side = {.thing = THING_SOCKET,
                                 .blocker = {.kind = listens ? BLOCKER_LISTENER : BLOCKER_PEER,
                                             .net = NET_TCP,
                                             .port = 80}};
        setup();
        builder_run(&b, lead, "main@/src/a.py:1:2 > fetch@/src/a.py:3:4", 4000, 3900);
        builder_process(&b, 20, "served", "");
        thread_id server = builder_thread(&b, 20, NULL);
        side.blocker.host = profile_string(b.p, "127.0.0.1");
        builder_polls(&b, server, "serve@/src/b.py:1:3", &side, works ? 3800 : 4000);
        if (works)
            builder_run(&b, server, "serve@/src/b.py:1:4", 200, 200);
        judge(4000);
        ck_assert_int_eq(is_said("20 (served) waits"), how == 0);
        teardown();
    }
}
END_TEST

/* At first only the address is known.  The process is not recorded: the way to see it is told. */
START_TEST(the_process_at_the_other_end_of_a_connection_is_told)
{
    struct wait_side side = {.thing = THING_SOCKET,
                             .blocker = {.kind = BLOCKER_PEER, .net = NET_TCP, .port = 5432}};
    setup();
    side.blocker.host = profile_string(b.p, "127.0.0.1");
    builder_polls(&b, lead, "ask@/src/a.py:1:3", &side, 1000);
    side.blocker.pid = 20;
    side.blocker.name = profile_string(b.p, "postgres");
    builder_polls(&b, lead, "ask@/src/a.py:1:3", &side, 3000);
    judge(4000);
    ck_assert(is_said("It waits for 20 (postgres), which has the socket's other end. "
                      "wallspy -p 10,20 shows both."));
    teardown();
}
END_TEST

START_TEST(who_polls_and_goes_on_waits_there)
{
    static const struct wait_side one = {.thing = THING_EVENTS, .single = true};
    static const struct wait_side many = {.thing = THING_EVENTS};
    static const char serves[] = "main@/src/a.py:1:2 > serve@/src/a.py:3:4";
    static const char handles[] = "main@/src/a.py:1:2 > serve@/src/a.py:3:5 > handle@/src/a.py:7:8";
    judge_polls(20, serves, handles, &many); /* its own event loop */
    assert_told(0, "event_loop", "main runs an event loop (epoll) and is idle 75% of its time.");
    teardown();
    judge_polls(20, serves, handles, &one); /* for an answer, whatever it does with that */
    ck_assert(is_said("main waits 75% of its time in serve a.py:4 > epoll_wait."));
    assert_not_told("event_loop");
    teardown();
    judge_polls(20, serves, "main@/src/a.py:1:2 > work@/src/a.py:7:8", &many); /* it returned */
    ck_assert(is_said("main waits 75% of its time in serve a.py:4 > epoll_wait."));
    assert_not_told("event_loop");
    teardown();
    judge_polls(20, serves, "main@/src/a.py:1:2 > serve@/src/a.py:3:5", &many); /* calls nobody */
    assert_not_told("event_loop");
    teardown();
    judge_polls(1, serves, handles, &many); /* once */
    assert_not_told("event_loop");
    teardown();
}
END_TEST

START_TEST(who_waits_for_its_turn_to_poll_does_not_stall)
{
    static const struct wait_side many = {.thing = THING_EVENTS};
    static const char *const turns[] = {
        "serve!app > pthread_mutex_lock!libc.so.6 > futex [blocked]",
        "serve!app > tokio::runtime::park::Inner::park!app > futex [blocked]",
        "serve!app > look_up!app > pthread_mutex_lock!libc.so.6 > futex [blocked]",
    };
    for (size_t i = 0; i < 3; i++) {
        setup();
        for (int k = 0; k < 20; k++) {
            builder_polls(&b, lead, "serve!app", &many, 100);
            builder_run(&b, lead, "serve!app > handle!app", 10, 10);
            builder_run(&b, lead, turns[i], 200, 0);
        }
        judge(6200);
        bool stall = is_said("Longest stall");
        ck_assert_int_eq(stall, i == 2); /* a callback's lock is one */
        teardown();
    }
}
END_TEST

/* The loop of LEAD polls for PARTS of 100 of its time, and waits in the poll for IDLE of 100. */
static void add_ready(int parts, int idle)
{
    static const char polls[] = LOOP "EpollSelector.select@/usr/lib/python3.11/selectors.py:1:2 > "
                                     "epoll_wait!libc.so.6";
    for (int i = 0; i < 40; i++) {
        builder_run(&b, lead, polls, parts, parts);
        builder_run(&b, lead,
                    LOOP "_run@/usr/lib/python3.11/asyncio/events.py:1:2 > "
                         "on_line@/src/a.py:5:6",
                    100 - parts - idle, 100 - parts - idle);
        if (idle)
            builder_run(&b, lead,
                        LOOP "EpollSelector.select@/usr/lib/python3.11/selectors.py:1:2 > "
                             "epoll_wait eventpoll [blocked]",
                        idle, 0);
    }
}

static void judge_ready(int parts, int idle)
{
    setup();
    add_ready(parts, idle);
    judge(4000);
}

/* The loop takes more by itself than the handler does. */
START_TEST(the_handler_of_a_busy_loop_is_named)
{
    setup();
    add_ready(30, 0);
    builder_run(&b, lead, LOOP "dict_get!python3.11", 8000, 8000);
    add_ready(30, 0);
    judge(16000);
    assert_told(0, "ready_loop", "Between its polls it calls on_line a.py:6.");
    teardown();
}
END_TEST

START_TEST(alike_loops_that_never_wait_are_told)
{
    setup();
    add_ready(30, 0);
    const thread_id first = lead;
    builder_process(&b, 90, "app", "");
    lead = builder_thread(&b, 90, NULL);
    add_ready(30, 0);
    lead = first;
    judge(4000);
    assert_told(0, "ready_loop", "(app) runs an event loop (asyncio) that never waits");
    assert_told(0, "ready_loop", " 90 (app) runs such a loop, too.");
    for (size_t i = 0; i < found.n; i++) /* also of those that are not printed */
        ck_assert(!found.items[i].words || !strstr(found.items[i].words, "from polling"));
    teardown();
}
END_TEST

START_TEST(a_loop_that_never_waits_is_told)
{
    judge_ready(30, 0);
    assert_told(
        0, "ready_loop",
        "main runs an event loop (asyncio) that never waits: whenever it polls a descriptor is "
        "ready, or a callback due, for 30% of its time. Between its polls it calls on_line "
        "a.py:6.");
    ck_assert(!is_said("from polling"));
    teardown();
    judge_ready(30, 10);
    assert_not_told("ready_loop");
    teardown();
    judge_ready(2, 0); /* it computes */
    assert_not_told("ready_loop");
    teardown();
}
END_TEST

static struct profile_usage own_usage; /* of the loop's thread */

/* A program's own loop, which calls VIA to poll. */
static void judge_own_polls(const char *via, int parts, int idle)
{
    struct text polls = {0};
    struct text waits = {0};
    text_addf(&polls, "serve@/src/a.py:1:3 > %sepoll_wait!libc.so.6", via);
    text_addf(&waits, "serve@/src/a.py:1:3 > %sepoll_wait eventpoll [blocked]", via);
    setup();
    for (int i = 0; i < 40; i++) {
        builder_run(&b, lead, polls.s, parts, parts);
        builder_run(&b, lead, "serve@/src/a.py:1:5 > on_line@/src/a.py:8:9", 100 - parts - idle,
                    100 - parts - idle);
        if (idle)
            builder_run(&b, lead, waits.s, idle, 0);
    }
    profile_get_thread(b.p, lead)->usage = own_usage;
    judge(4000);
    text_release(&polls);
    text_release(&waits);
}

/* An eventfd(2) gives 8 bytes. */
START_TEST(a_loop_that_reads_byte_by_byte_is_told)
{
    static const char selectors[] = "EpollSelector.select@/usr/lib/python3.11/selectors.py:1:2 > ";
    for (uint64_t bytes = 1; bytes <= 8; bytes += 7) {
        own_usage = (struct profile_usage){.reads = 40000, .read_bytes = 40000 * bytes};
        judge_own_polls(selectors, 30, 0);
        assert_told(0, "ready_loop",
                    bytes == 1 ? "in on_line a.py:9. It reads 10,000 times a second, 1 byte each: "
                                 "read all that is there at once."
                               : "in on_line a.py:9. Usual causes: the descriptor's other end has");
        teardown();
    }
    own_usage = (struct profile_usage){0};
}
END_TEST

START_TEST(a_loop_of_the_programs_own_that_never_waits_is_told)
{
    static const char selectors[] = "EpollSelector.select@/usr/lib/python3.11/selectors.py:1:2 > ";
    judge_own_polls(selectors, 30, 0);
    assert_told(0, "ready_loop",
                "main polls in a loop that never waits, in epoll_wait, called from serve a.py:3: "
                "whenever it polls a descriptor is ready, or the time-out is 0, for 30% of its "
                "time. Between its polls it is mainly in on_line a.py:9.");
    teardown();
    judge_own_polls("EpollSelector.select@/usr/lib/python3.11/selectors.py:1:2 > "
                    "select_epoll_poll!python3.11 > ",
                    30, 0);
    assert_told(0, "ready_loop", "main polls in a loop that never waits");
    teardown();
    judge_own_polls("", 30, 0);
    assert_told(0, "ready_loop", "main polls in a loop that never waits, in epoll_wait, called");
    teardown();
    judge_own_polls(selectors, 30, 10);
    assert_not_told("ready_loop");
    teardown();
    judge_own_polls(selectors, 2, 0); /* it computes */
    assert_not_told("ready_loop");
    teardown();
    judge_own_polls("wait@/usr/lib/python3.11/site-packages/urllib3/util/wait.py:1:2 > ", 30,
                    0); /* a library does */
    assert_not_told("ready_loop");
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

START_TEST(threads_that_serve_come_before_an_event_loop_that_idles)
{
    setup();
    builder_run(&b, lead, LOOP "select@/usr/lib/python3.11/selectors.py:1:2 > epoll_wait [blocked]",
                4000, 0);
    builder_run(&b, builder_thread(&b, 11, "request-1"), asks, 4000, 0);
    builder_run(&b, builder_thread(&b, 12, "request-2"), asks, 4000, 0);
    judge(4000);
    assert_told(0, "waits", "request-1 and request-2 wait 100% of their time in ask a.py:6");
    assert_told(1, "event_loop", "main runs an event loop (asyncio) and is idle 100%");
    teardown();
}
END_TEST

/* Thread T waits for 40% of 4 s in a function that ends in WAIT, and else sleeps and works. */
static void wait_beside_sleep(thread_id t, const char *wait)
{
    for (int i = 0; i < 10; i++) {
        builder_run(&b, t, wait, 160, 0);
        builder_run(&b, t, "rest@/src/users.py:8:9 > clock_nanosleep [blocked]", 140, 0);
        builder_run(&b, t, "work@/src/users.py:11:12", 100, 100);
    }
}

/* No wait has most of the time: where it ends is told all the same. */
START_TEST(where_nothing_stands_out_the_largest_ends_are_told)
{
    b = builder_start(10, "python3");
    thread_id main = builder_thread(&b, 10, NULL);
    wait_beside_sleep(main, "ask@/src/users.py:1:6 > read pipe [blocked]");
    builder_run(&b, main, "work@/src/users.py:11:12", 1000, 1000);
    judge(5000);
    assert_told(
        0, "nothing",
        "Nothing stands out in 5.0 s: 40% of the time of main ends in work users.py:12; 32% "
        "in ask users.py:6 > read pipe.");
    teardown();
}
END_TEST

START_TEST(two_long_waits_are_both_told)
{
    b = builder_start(10, "python3");
    thread_id main = builder_thread(&b, 10, NULL);
    wait_beside_sleep(main, "ask@/src/users.py:1:6 > read pipe [blocked]");
    judge(4000);
    assert_told(0, "waits",
                "main waits 40% of its time in ask users.py:6 > read pipe. main sleeps another 35% "
                "in rest users.py:9 > clock_nanosleep.");
    teardown();
}
END_TEST

/* Who sleeps means to: what else it waits for nearly as long comes first. */
START_TEST(a_wait_comes_before_a_sleep_that_is_a_little_longer)
{
    for (int sleep_ms = 220; sleep_ms <= 280; sleep_ms += 60) {
        b = builder_start(10, "python3");
        thread_id main = builder_thread(&b, 10, NULL);
        for (int i = 0; i < 8; i++) {
            builder_run(&b, main, "ask@/src/users.py:1:6 > read pipe [blocked]", 200, 0);
            builder_run(&b, main, "rest@/src/users.py:8:9 > clock_nanosleep [blocked]", sleep_ms,
                        0);
        }
        judge(8L * (200 + sleep_ms));
        if (sleep_ms < 250)
            assert_told(0, "waits", "main waits 48% of its time in ask users.py:6 > read pipe. ");
        else
            assert_told(0, "waits", "main sleeps 58% of its time in rest users.py:9 > ");
        teardown();
    }
}
END_TEST

/* Who waits for a lock has work to do, however little it runs, and whatever else it waits for. */
START_TEST(a_wait_for_a_lock_is_told_beside_a_sleep)
{
    b = builder_start(10, "python3");
    builder_run(&b, builder_thread(&b, 10, NULL),
                "main!app > pthread_join!libc.so.6 > futex [blocked]", 4000, 0);
    wait_beside_sleep(builder_thread(&b, 11, "uploader"),
                      "append@/src/users.py:1:6 > flock /var/lib/users.lock [blocked]");
    judge(4000);
    assert_told(0, "waits",
                "uploader waits 40% of its time in append users.py:6 > flock /var/lib/users.lock.");
    teardown();
}
END_TEST

/* Only a thread of its own process can wake it: not that of a program which a script starts, too,
 * but that of a child may have a part in it. */
START_TEST(who_is_of_another_family_ends_no_wait_for_a_thread)
{
    for (int how = 0; how < 4; how++) {
        bool child = how & 1;
        const struct wait_side inside = {.inside = true, .timed = how & 2};
        setup();
        process_id parent = b.process;
        builder_held(&b, lead, "serve!app > pop!app > pthread_cond_wait!libc.so.6", &inside, 4000);
        builder_process(&b, 20, "xz", NULL);
        if (child)
            profile_get_process(b.p, b.process)->parent = parent;
        builder_run(&b, builder_thread(&b, 20, NULL), "code!xz", 4000, 4000);
        judge(4000);
        ck_assert_int_eq(is_said("Meanwhile 20 (xz) is 100% in code"), child);
        teardown();
    }
}
END_TEST

/* Who is at the other end is none of those that are recorded: they keep nobody who waits for it. */
START_TEST(who_is_not_waited_for_is_not_told_meanwhile)
{
    static const struct blocker ends[] = {
        {.kind = BLOCKER_PEER, .net = NET_UNIX},
        {.kind = BLOCKER_PEER, .net = NET_TCP, .port = 5432, .pid = 812},
        {.kind = BLOCKER_PEER, .net = NET_TCP, .port = 5432}, /* it may be anybody here */
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct wait_side side = {.thing = THING_SOCKET, .blocker = ends[i]};
        setup();
        bool local = side.blocker.net == NET_UNIX;
        side.blocker.host = profile_string(b.p, local ? "/run/x.s.5432" : "127.0.0.1");
        builder_polls(&b, lead, "ask@/src/a.py:1:3", &side, 4000);
        builder_run(&b, builder_thread(&b, 11, "indexer"), "build!app", 4000, 4000);
        judge(4000);
        ck_assert_msg(is_said("Meanwhile indexer is 100% in build") == (i == 2), "%zu", i);
        teardown();
    }
}
END_TEST

/* Twenty uploads in threads of their own, one at a time, or all at once. */
START_TEST(threads_that_run_one_after_the_other_are_told_to)
{
    enum { UPLOADS = 20, EACH_MS = 200 };
    for (int at_once = 0; at_once < 2; at_once++) {
        setup();
        builder_run(&b, lead, "serve!app > pthread_join!libc.so.6 > futex [blocked]",
                    UPLOADS * EACH_MS, 0);
        for (int i = 0; i < UPLOADS; i++) {
            thread_id t = builder_thread(&b, 20 + i, "upload");
            int64_t start_ms = at_once ? 0 : (int64_t)i * EACH_MS;
            if (start_ms)
                builder_missed(&b, t, start_ms);
            int64_t ms = at_once ? UPLOADS * EACH_MS : EACH_MS;
            builder_run(&b, t, "upload!app > recvfrom 10.0.0.7:80 [blocked]", ms - 10, 0);
            builder_run(&b, t, "upload!app > pack!app", 10, 10);
            profile_get_thread(b.p, t)->start_ns = start_ms * NS_PER_MS;
            profile_end_thread(b.p, t, (start_ms + ms) * NS_PER_MS);
        }
        judge((int64_t)UPLOADS * EACH_MS);
        ck_assert(is_said("20 upload threads wait"));
        ck_assert_int_eq(is_said("They run one after the other: 1.0 at a time."), !at_once);
        teardown();
    }
}
END_TEST

/* libuv is linked into node: the place is what runs the loop, and not the loop. */
START_TEST(a_loop_that_waits_for_one_child_is_told_as_such)
{
    setup();
    builder_run(&b, lead,
                "node::SyncProcessRunner::Run!node > uv_run!node > uv__io_poll!node > epoll_wait "
                "[blocked]",
                3600, 0);
    builder_run(&b, lead, "node::Start!node > v8::Call!node", 400, 400);
    judge(4000);
    ck_assert(is_said("main waits 90% of its time in "));
    ck_assert(is_said("block node's event loop until the child has ended."));
    teardown();
}
END_TEST

/* Both have the lock: a fork after flock(2). */
START_TEST(several_that_share_a_lock_are_named)
{
    setup();
    struct blocker one = {.kind = BLOCKER_PROCESS, .pid = 30, .name = profile_string(b.p, "flock")};
    struct blocker other = {.kind = BLOCKER_PROCESS, .pid = 31, .name = profile_string(b.p, "job")};
    struct wait_side side = {.thing = THING_FILE_LOCK,
                             .blocker = {.kind = BLOCKER_SEVERAL, .n = 2}};
    side.list = profile_list_blocker(b.p, &other, side.list);
    side.list = profile_list_blocker(b.p, &one, side.list);
    builder_polls(&b, lead, "save!app", &side, 3600);
    builder_run(&b, lead, "save!app", 400, 400);
    judge(4000);
    ck_assert(is_said("a file's lock, which 2 processes share: 30 (flock), 31 (job)."));
    teardown();
}
END_TEST

/* As a DataLoader's, which write into one pipe.  Nobody can say for which of them main waits. */
START_TEST(what_workers_at_the_other_end_do_is_told)
{
    for (int recorded = 2; recorded <= 3; recorded++) {
        struct wait_side side = {.thing = THING_PIPE, .blocker = {.kind = BLOCKER_SEVERAL, .n = 4}};
        setup();
        for (pid_t pid = 22; pid >= 20; pid--) {
            struct blocker worker = {.kind = BLOCKER_PROCESS, .pid = pid};
            side.list = profile_list_blocker(b.p, &worker, side.list);
        }
        side.list = profile_list_blocker(b.p, &(struct blocker){.kind = BLOCKER_PROCESS, .pid = 10},
                                         side.list);
        builder_polls(&b, lead, "train@/src/t.py:1:30", &side, 3600);
        builder_run(&b, lead, "train@/src/t.py:1:31", 400, 400);
        for (pid_t pid = 20; pid < 20 + recorded; pid++) {
            builder_process(&b, pid, "worker", "");
            thread_id t = builder_thread(&b, pid, NULL);
            builder_run(&b, t, "fetch@/src/t.py:5:9 > recvfrom 52.1.1.1:443 [blocked]", 3900, 0);
            builder_run(&b, t, "fetch@/src/t.py:5:10", 100, 100);
        }
        judge(4000);
        ck_assert_int_eq(is_said("Meanwhile 20 (worker), 21 (worker) and 22 (worker) are 100% in "
                                 "fetch t.py:9 > recvfrom 52.1.1.1:443."),
                         recorded == 3);
        teardown();
    }
}
END_TEST

CHECK_MAIN("findings_waits", 20, a_loop_that_waits_for_one_child_is_told_as_such,
           several_that_share_a_lock_are_named, what_workers_at_the_other_end_do_is_told,
           threads_that_run_one_after_the_other_are_told_to,
           who_is_of_another_family_ends_no_wait_for_a_thread,
           who_is_not_waited_for_is_not_told_meanwhile,
           threads_that_serve_come_before_an_event_loop_that_idles,
           a_sleep_of_sqlite_is_a_wait_for_its_lock, a_retry_is_told_also_where_nobody_ran,
           what_a_queues_process_waits_for_is_told, what_keeps_a_loop_from_polling_is_told,
           what_the_process_at_the_other_end_does_is_told,
           the_process_at_the_other_end_of_a_connection_is_told,
           a_server_is_not_kept_by_its_clients, who_may_wake_a_thread_in_a_futex_is_told,
           who_polls_and_goes_on_waits_there, who_waits_for_its_turn_to_poll_does_not_stall,
           the_handler_of_a_busy_loop_is_named, alike_loops_that_never_wait_are_told,
           a_loop_that_never_waits_is_told, a_loop_that_reads_byte_by_byte_is_told,
           a_loop_of_the_programs_own_that_never_waits_is_told,
           where_main_is_idle_the_threads_that_serve_are_told_of,
           where_nothing_stands_out_the_largest_ends_are_told,
           a_wait_for_a_lock_is_told_beside_a_sleep, two_long_waits_are_both_told,
           a_wait_comes_before_a_sleep_that_is_a_little_longer)
