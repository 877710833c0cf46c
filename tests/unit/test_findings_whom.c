/* Whom a wait is for where nobody can be named for sure: who else is there, and what they do. */
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

static thread_id lead;

static void setup(void)
{
    b = builder_start(10, "app");
    lead = builder_thread(&b, 10, NULL);
}

/* Main's wait ends far more often than BOARD wakes. */
START_TEST(who_sleeps_too_long_wakes_nobody)
{
    static const struct wait_side timed = {.timed = true};
    setup();
    thread_id modem = builder_thread(&b, 11, "modem");
    thread_id board = builder_thread(&b, 12, "board");
    for (int i = 0; i < 8; i++) {
        builder_run(&b, lead, "ask!app > pthread_cond_wait!libc.so.6 > futex [blocked]", 490, 0);
        builder_run(&b, lead, "ask!app", 10, 10);
        profile_get_thread(b.p, lead)->runs[2 * i].waits = 20;
    }
    builder_held(&b, modem, "run!app > pthread_cond_clockwait!libc.so.6", &timed, 4000);
    builder_run(&b, board, "show!app > clock_nanosleep [blocked]", 4000, 0);
    profile_get_thread(b.p, lead)->usage.voluntary = 160;
    profile_get_thread(b.p, modem)->usage.voluntary = 160;
    profile_get_thread(b.p, modem)->runs[0].waits = 160;
    profile_get_thread(b.p, board)->usage.voluntary = 8;
    judge(4000);
    ck_assert(is_said("main waits 98% of its time in ask > condition. modem is 100% in run > "
                      "condition, with a time-out: it waits 40 times a second, 25 ms each."));
    ck_assert(!is_said("board"));
    teardown();
}
END_TEST

/* The lock's holder is unknown: main may wait for whoever waits for it. */
START_TEST(who_is_busy_beside_a_wait_for_a_lock_is_no_culprit)
{
    for (int locked = 0; locked <= 1; locked++) {
        setup();
        builder_run(&b, lead, "main!app > ask!app > pthread_cond_wait!libc.so.6 > futex [blocked]",
                    4000, 0);
        builder_run(&b, builder_thread(&b, 11, "scanner"), "scan!app > try_key!app", 4000, 4000);
        builder_run(&b, builder_thread(&b, 12, "api"),
                    locked ? "list!app > pthread_rwlock_rdlock!libc.so.6 > futex [blocked]"
                           : "serve!app > pthread_cond_wait!libc.so.6 > futex [blocked]",
                    4000, 0);
        judge(4000);
        ck_assert_int_eq(is_said("Meanwhile scanner is 100% in scan > try_key"), !locked);
        teardown();
    }
}
END_TEST

/* A writer that its readers keep out does not lead, and has a finding of its own. */
START_TEST(who_waits_for_readers_is_told)
{
    enum { SESSIONS = 3 };
    setup();
    builder_run(&b, lead, "main!app > clock_nanosleep [blocked]", 4000, 0);
    for (pid_t tid = 11; tid < 11 + SESSIONS; tid++)
        builder_run(&b, builder_thread(&b, tid, "session"),
                    "answer!app > confirm!app > read socket [blocked]", 4000, 0);
    thread_id reload = builder_thread(&b, 20, "reload");
    builder_run(&b, reload, "reload!app > pthread_rwlock_wrlock!libc.so.6 > futex [blocked]", 2400,
                0);
    builder_run(&b, reload, "pause!app > clock_nanosleep [blocked]", 1600, 0);
    judge(4000);
    ck_assert(is_said("reload waits 60% of its time in reload > rwlock. The lock's holder is "
                      "unknown: readers leave no name in an rwlock. 3 session threads are 100% in "
                      "answer > confirm > read socket."));
    ck_assert(!is_said("main is"));
    teardown();
}
END_TEST

/* The event loop's own thread waits for what only the loop can bring. */
START_TEST(a_loop_that_waits_for_itself_is_told)
{
    setup();
    builder_run(&b, lead,
                "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:2 > ask@/src/a.py:5:6 > "
                "Future.result@/usr/lib/python3.11/concurrent/futures/_base.py:1:2 > "
                "Condition.wait@/usr/lib/python3.11/threading.py:1:2 > sem_wait!libc.so.6 > "
                "futex [blocked]",
                4000, 0);
    builder_run(&b, builder_thread(&b, 11, "meter"), "read_meter!app", 4000, 1000);
    judge(4000);
    assert_told(0, "waits_meanwhile",
                "main waits 100% of its time in Future.result, called from ask a.py:6. That keeps "
                "its event loop (asyncio) from polling: all else that it serves waits, too. A call "
                "that the loop can wait for avoids that, or a helper thread. A result that only "
                "this loop can bring never comes. Meanwhile meter is 100% in read_meter.");
    teardown();
}
END_TEST

/* The function has much more of the time than any way below it. */
START_TEST(what_is_busy_meanwhile_has_the_figure_of_its_function)
{
    setup();
    builder_run(&b, lead, "main!app > pthread_cond_wait!libc.so.6 > futex [blocked]", 4000, 0);
    thread_id t = builder_thread(&b, 11, "intake");
    builder_run(&b, t, "check@/src/a.py:1:83 > make@/usr/lib/python3.11/schema.py:1:2", 2400, 2400);
    builder_run(&b, t, "check@/src/a.py:1:83 > clean@/usr/lib/python3.11/schema.py:5:6", 1600,
                1600);
    judge(4000);
    assert_told(0, "waits_meanwhile",
                "Meanwhile intake is 100% in check a.py:83 (60% make, 40% clean).");
    teardown();
}
END_TEST

/* A shell's loop: its programs are too short for a sample, but the kernel counts them. */
START_TEST(how_many_processes_start_is_told)
{
    setup();
    profile_get_host(b.p)->machine =
        (struct profile_machine){.known = true, .starts_known = true, .starts = 2800};
    for (int i = 0; i < 8; i++) {
        builder_run(&b, lead, "main@/src/a.py:1:2 > read pipe [blocked]", 490, 0);
        builder_run(&b, lead, "main@/src/a.py:1:2", 10, 10);
    }
    for (pid_t pid = 20; pid < 30; pid++) {
        builder_process(&b, pid, "sh", "");
        profile_get_process(b.p, b.process)->parent = (process_id){1};
        thread_id t = builder_thread(&b, pid, NULL);
        profile_get_thread(b.p, t)->start_ns = (1 + (pid - 20) * 390) * (int64_t)NS_PER_MS;
        builder_run(&b, t, "loop!dash", 20, 20);
        builder_run(&b, t, "loop!dash > wait4 [blocked]", 370, 0);
        profile_get_process(b.p, (process_id){1})->children_cpu_ns = (int64_t)2 * NS_PER_S;
        profile_end_thread(b.p, t, (1 + (pid - 19) * 390) * (int64_t)NS_PER_MS);
        profile_get_thread(b.p, t)->ended = true;
    }
    judge(4000);
    ck_assert(is_said("It starts one process after the other: 10 in 4.0 s."));
    ck_assert(is_said("Meanwhile 700 processes and threads start a second on this machine."));
    teardown();
}
END_TEST

/* Five alike servers, N of them at a time in OPEN's wait, the others for a lock of LOCK's. */
static void judge_turns(const struct blocker *open, int n, const struct wait_side *lock)
{
    enum { SERVERS = 5, TURN_MS = 100, ROUNDS = 10 };
    b = builder_start(1, "front");
    builder_run(&b, builder_thread(&b, 1, NULL), "main!front > wait4 [blocked]",
                SERVERS * TURN_MS * ROUNDS, 0);
    builder_run(&b, builder_thread(&b, 2, "keeper"), "keep!front > clock_nanosleep [blocked]",
                SERVERS * TURN_MS * ROUNDS, 0);
    for (int i = 0; i < SERVERS; i++) {
        struct wait_side side = {.thing = THING_SOCKET, .blocker = *open};
        builder_process(&b, 10 + i, "serve", "");
        thread_id t = builder_thread(&b, 10 + i, NULL);
        for (int k = 0; k < SERVERS * ROUNDS; k++)
            if ((k + i) % SERVERS < n)
                builder_polls(&b, t, "take!serve > accept!serve", &side, TURN_MS);
            else
                builder_held(&b, t, "take!serve > pthread_mutex_lock!libc.so.6", lock, TURN_MS);
    }
    judge(SERVERS * TURN_MS * ROUNDS);
}

/* Who waits for its own client has a request, and keeps the others for as long. */
START_TEST(turns_to_serve_are_told)
{
    static const struct blocker whoever = {.kind = BLOCKER_LISTENER, .net = NET_TCP};
    static const struct blocker client = {.kind = BLOCKER_CLIENT, .net = NET_TCP};
    static const struct wait_side unknown = {.thing = THING_MUTEX};
    static const struct wait_side kept = {.thing = THING_MUTEX,
                                          .blocker = {.kind = BLOCKER_THREAD, .pid = 1, .tid = 2}};
    judge_turns(&whoever, 1, &unknown);
    ck_assert(is_said("Meanwhile one of them waits for whoever connects: they take turns"));
    teardown();
    judge_turns(&client, 1, &unknown);
    ck_assert(!is_said("take turns"));
    teardown();
    judge_turns(&whoever, 1, &kept);
    ck_assert(!is_said("take turns"));
    teardown();
    judge_turns(&whoever, 2, &unknown); /* the lock is for something else */
    ck_assert(!is_said("take turns"));
    teardown();
}
END_TEST

/* Chance chose which of short connections were looked at. */
START_TEST(whom_most_waits_are_for_is_told_with_the_part_that_is_known)
{
    for (int how = 0; how < 2; how++) {
        struct wait_side side = {.thing = THING_SOCKET,
                                 .blocker = {.kind = BLOCKER_PEER, .net = NET_TCP, .port = 80}};
        setup();
        side.blocker.host = profile_string(b.p, "127.0.0.1");
        side.blocker.pid = 20;
        side.blocker.name = profile_string(b.p, "till");
        builder_polls(&b, lead, "ask@/src/a.py:1:3", &side, how ? 1200 : 400);
        builder_run(&b, lead, "ask@/src/a.py:1:3 > epoll_wait [blocked]", how ? 2800 : 3600, 0);
        judge(4000);
        ck_assert_int_eq(is_said("It waits for 20 (till), which has the socket's other end, known "
                                 "for 30% of these waits."),
                         how);
        teardown();
    }
}
END_TEST

START_TEST(who_listens_is_told_where_nobody_is_known_at_the_other_end)
{
    static const struct {
        uint32_t n; /* processes that have the listening socket */
        bool at_end, polls;
        const char *words; /* NULL: nothing is said of them */
    } cases[] = {
        {1, false, false, " 20 (till) listens on port 80: wallspy -p 10,20 shows both."},
        {1, false, true, " 20 (till) listens on port 80: wallspy -p 10,20 shows both."},
        {2, false, false, " 20 (till) and 1 other listen on port 80: wallspy -p 10,20 shows both."},
        {3, false, false,
         " 20 (till) and 2 others listen on port 80: wallspy -p 10,20 shows both."},
        {1, true, false, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wait_side side = {.thing = THING_SOCKET};
        struct blocker there = {.kind = BLOCKER_PEER, .net = NET_TCP, .port = 80};
        setup();
        there.host = profile_string(b.p, "127.0.0.1");
        const struct listener till = {there.host, there.port, 20, profile_string(b.p, "till"),
                                      cases[i].n, 0};
        profile_add_listener(b.p, &till);
        there.pid = cases[i].at_end ? 21 : 0;
        there.name = there.pid ? till.name : there.name;
        there.thing = cases[i].polls ? THING_SOCKET : THING_UNKNOWN;
        if (cases[i].polls)
            side = (struct wait_side){.thing = THING_EVENTS,
                                      .list = profile_list_blocker(b.p, &there, side.list)};
        else
            side.blocker = there;
        builder_polls(&b, lead, "ask@/src/a.py:1:3", &side, 4000);
        judge(4000);
        if (cases[i].words)
            ck_assert_msg(is_said(cases[i].words), "%zu: %s", i, cases[i].words);
        else
            ck_assert(!is_said("on port"));
        teardown();
    }
}
END_TEST

/* An event loop that idles for a poll of N connections, of PID's, and in between computes. */
static void judge_loop(enum blocker_kind kind, int n, pid_t pid)
{
    static const char polls[] =
        "run@/src/a.py:1:3 > _run_once@/usr/lib/python3.11/asyncio/base_events.py:1:2 > "
        "EpollSelector.select@/usr/lib/python3.11/selectors.py:1:2";
    struct wait_side side = {.thing = THING_EVENTS, .timed = true};
    struct blocker there = {
        .kind = kind, .thing = THING_SOCKET, .net = NET_TCP, .port = 80, .pid = pid, .n = 1};
    setup();
    there.host = profile_string(b.p, "127.0.0.1");
    there.name = pid ? profile_string(b.p, "till") : there.name;
    for (int i = 0; i < n; i++, there.port++)
        side.list = profile_list_blocker(b.p, &there, side.list);
    for (int i = 0; i < 20; i++) {
        builder_polls(&b, lead, polls, &side, 160);
        builder_run(&b, lead, "run@/src/a.py:1:3 > add_up@/src/a.py:5:6", 40, 40);
    }
    judge(4000);
}

START_TEST(whose_answer_an_event_loop_waits_for_is_told)
{
    judge_loop(BLOCKER_PEER, 1, 20);
    assert_told(0, "event_loop", "main runs an event loop (asyncio) and is idle 80% of its time.");
    assert_told(0, "event_loop",
                " When idle it waits for a connection to 127.0.0.1:80 of 20 (till)"
                ": wallspy -p 10,20 shows both.");
    teardown();
    judge_loop(BLOCKER_PEER, 2, 0);
    assert_told(0, "event_loop",
                " When idle it waits for a connection to 127.0.0.1:81; a "
                "connection to 127.0.0.1:80.");
    teardown();
    judge_loop(BLOCKER_LISTENER, 1, 0); /* a server */
    ck_assert(!is_said("When idle"));
    teardown();
}
END_TEST

/* Main waits for its own process: for a condition, or by an eventfd alone.  N threads of it wait
 * for till's answers meanwhile. */
static void judge_go_between(bool condition, int n)
{
    const struct blocker own = {.kind = BLOCKER_ITSELF, .thing = THING_EVENTFD, .n = 1};
    struct blocker till = {
        .kind = BLOCKER_PEER, .thing = THING_SOCKET, .net = NET_TCP, .port = 80, .pid = 20, .n = 1};
    setup();
    struct wait_side wakes = {.thing = THING_EVENTS,
                              .list = profile_list_blocker(b.p, &own, (blocker_list){0})};
    till.host = profile_string(b.p, "127.0.0.1");
    till.name = profile_string(b.p, "till");
    if (condition)
        builder_run(&b, lead, "call!app > pthread_cond_wait!libc.so.6 > futex [blocked]", 3900, 0);
    else
        builder_polls(&b, lead, "call!app", &wakes, 3900);
    builder_run(&b, lead, "add_up!app", 100, 100);
    for (int i = 0; i < n; i++) {
        struct wait_side side = {.thing = THING_EVENTS};
        till.port = 80 + (uint32_t)i;
        side.list = profile_list_blocker(b.p, &till, side.list);
        thread_id t = builder_thread(&b, 11 + i, i ? "pump" : "sender");
        builder_polls(&b, t, "uv_run!libuv.so.1 > uv__io_poll!libuv.so.1", &side, 4000);
    }
    judge(4000);
}

START_TEST(whom_a_thread_asks_that_waits_for_its_own_is_told)
{
    static const char told[] = "Meanwhile sender waits for a connection to 127.0.0.1:80 of 20 "
                               "(till): wallspy -p 10,20 shows both.";
    for (int condition = 0; condition <= 1; condition++) {
        judge_go_between(condition, 1);
        ck_assert(is_said("main waits 98% of its time in call > "));
        ck_assert(is_said(told));
        teardown();
        judge_go_between(condition, 2); /* either of them */
        ck_assert(!is_said("Meanwhile"));
        teardown();
    }
}
END_TEST

/* Each lives for one request: none waits for work. */
START_TEST(threads_of_one_request_each_never_wait_for_work)
{
    enum { THREADS = 40, LIFE_MS = 100 };
    setup();
    builder_run(&b, lead,
                "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:2 > "
                "select@/usr/lib/python3.11/selectors.py:1:2 > epoll_wait [blocked]",
                4000, 0);
    for (int i = 0; i < THREADS; i++) {
        thread_id t = builder_thread(&b, 11 + i, "request");
        profile_get_thread(b.p, t)->start_ns = (int64_t)i * LIFE_MS * NS_PER_MS;
        builder_run(&b, t,
                    "serve@/src/a.py:1:2 > get@/usr/lib/python3.11/queue.py:1:2 > "
                    "sem_wait!python3 > futex [blocked]",
                    LIFE_MS, 0);
        profile_end_thread(b.p, t, (int64_t)(i + 1) * LIFE_MS * NS_PER_MS);
        profile_get_thread(b.p, t)->ended = true;
    }
    judge(4000);
    assert_told(0, "waits", "40 request threads wait 100% of their time in serve a.py:2 > futex");
    teardown();
}
END_TEST

/* T polls for what PID puts into a pipe. */
static void polls_for(thread_id t, pid_t pid, int64_t ms)
{
    const struct wait_side side = {
        .thing = THING_PIPE,
        .blocker = {.kind = BLOCKER_PROCESS, .pid = pid, .tid = pid},
    };
    builder_polls(&b, t, "ask@/src/a.py:1:3", &side, ms);
}

/* The first one waits for the second, and that for the third; a fourth one is busy, too.  Of a
 * chain the first sentence names the next one alone, so its end is told unless it is there. */
START_TEST(where_a_chain_of_waits_ends_is_told)
{
    enum { SECOND = 20, THIRD = 30, OTHER = 40 };
    for (int longer = 0; longer <= 1; longer++) {
        setup();
        polls_for(lead, SECOND, 3600);
        builder_run(&b, lead, "ask@/src/a.py:1:3", 400, 400);
        builder_process(&b, SECOND, "tr", NULL);
        thread_id second = builder_thread(&b, SECOND, NULL);
        if (longer)
            polls_for(second, THIRD, 4000);
        else
            builder_run(&b, second, "turn!tr", 4000, 4000);
        builder_process(&b, THIRD, "clean", NULL);
        thread_id third = builder_thread(&b, THIRD, NULL);
        builder_run(&b, third, "strip@/src/b.py:1:3 > sub!_sre.so", 3900, 3900);
        builder_run(&b, third, "read@/src/b.py:5:6", 100, 100);
        builder_process(&b, OTHER, "busy", NULL);
        builder_run(&b, builder_thread(&b, OTHER, NULL), "hash!busy", 4000, 4000);
        judge(4000);
        ck_assert_int_eq(is_said("90% of 10 (app)'s time ends in 30 (clean), which computes in "
                                 "strip b.py:3 > sub."),
                         longer);
        ck_assert_int_eq(is_said("'s time ends in 30 (clean)"), longer);
        teardown();
    }
}
END_TEST

CHECK_MAIN("findings_whom", 20, who_is_busy_beside_a_wait_for_a_lock_is_no_culprit,
           who_sleeps_too_long_wakes_nobody, who_waits_for_readers_is_told, turns_to_serve_are_told,
           a_loop_that_waits_for_itself_is_told,
           what_is_busy_meanwhile_has_the_figure_of_its_function, how_many_processes_start_is_told,
           whom_most_waits_are_for_is_told_with_the_part_that_is_known,
           who_listens_is_told_where_nobody_is_known_at_the_other_end,
           whose_answer_an_event_loop_waits_for_is_told,
           whom_a_thread_asks_that_waits_for_its_own_is_told,
           threads_of_one_request_each_never_wait_for_work, where_a_chain_of_waits_ends_is_told)
