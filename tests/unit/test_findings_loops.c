/* Event loops: what keeps them from polling, for whom they poll, and those that never wait. */
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

#define LOOP "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:2 > "
static thread_id lead;

static void setup(void)
{
    b = builder_start(10, "app");
    lead = builder_thread(&b, 10, NULL);
}

START_TEST(what_keeps_a_loop_from_polling_is_told)
{
    setup();
    builder_run(&b, lead, LOOP "load@/src/a.py:5:6 > clock_nanosleep [blocked]", 4000, 0);
    judge(4000);
    ck_assert(
        is_said("That keeps its event loop (asyncio) from polling: all else that it serves waits"));
    teardown();
    setup(); /* many short waits, each for an answer: none of them is its poll */
    builder_run(&b, lead, LOOP "load@/src/a.py:5:6 > recvfrom socket [blocked]", 3800, 0);
    builder_run(&b, lead, LOOP "load@/src/a.py:5:6", 200, 200);
    struct profile_thread *t = profile_get_thread(b.p, lead);
    t->runs[0].weights.events.put_on_cpu = 1000;
    t->usage = (struct profile_usage){.over_ns = 4000L * NS_PER_MS, .voluntary = 1000};
    judge(4000);
    ck_assert(is_said("That keeps its event loop (asyncio) from polling"));
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

/* Samples find it awake in its poll, for a CPU or about to sleep. */
START_TEST(a_loop_that_sleeps_between_any_two_samples_waits)
{
    setup();
    add_ready(30, 0);
    profile_get_thread(b.p, lead)->usage =
        (struct profile_usage){.over_ns = 4000L * NS_PER_MS, .voluntary = 4000};
    judge(4000);
    assert_not_told("ready_loop");
    ck_assert(!is_said("from polling"));
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

CHECK_MAIN("findings_loops", 20, what_keeps_a_loop_from_polling_is_told,
           what_the_process_at_the_other_end_does_is_told, who_may_wake_a_thread_in_a_futex_is_told,
           a_server_is_not_kept_by_its_clients,
           the_process_at_the_other_end_of_a_connection_is_told, who_polls_and_goes_on_waits_there,
           who_waits_for_its_turn_to_poll_does_not_stall, the_handler_of_a_busy_loop_is_named,
           a_loop_that_sleeps_between_any_two_samples_waits, alike_loops_that_never_wait_are_told,
           a_loop_that_never_waits_is_told, a_loop_that_reads_byte_by_byte_is_told,
           a_loop_of_the_programs_own_that_never_waits_is_told)
