/* Threads that wait for requests most of their time: for how long they stay away, in what, and what
 * most of the rest goes into. */
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

enum { PID = 10, REFRESH = 11, ROUNDS = 20, ROUND_MS = 200 };
#define SERVES   "serve@/src/a.py:1:2 > "
#define RECEIVES "recv!libc.so.6 > recvfrom socket [blocked]"
static const char waits[] = SERVES RECEIVES;
static const char handles[] = "serve@/src/a.py:1:3 > handle@/src/a.py:5:6";
static thread_id lead, refresh;

static void setup(void)
{
    b = builder_start(PID, "server");
    lead = builder_thread(&b, PID, NULL);
    refresh = builder_thread(&b, REFRESH, "refresh");
    builder_run(&b, refresh, "tidy!server > clock_nanosleep [blocked]", 2000, 0);
}

/* Main waits in WAITS, works for 10 ms a round in WORKS, and once is STALL_MS in STALLS. */
static void wait_and_work(const char *at, const char *works, const char *stalls, int stall_ms)
{
    for (int i = 0; i < ROUNDS; i++) {
        builder_run(&b, lead, at, ROUND_MS - 10, 0);
        builder_run(&b, lead, works, 10, 10);
        if (i == ROUNDS / 2)
            builder_run(&b, lead, stalls, stall_ms, stall_ms);
    }
    builder_run(&b, lead, at, 10, 0);
}

static void judge_server(const char *stalls, int stall_ms)
{
    setup();
    wait_and_work(waits, handles, stalls, stall_ms);
    judge(ROUNDS * ROUND_MS + stall_ms + 10L);
}

START_TEST(a_pause_of_the_collector_is_told_with_what_helps)
{
    judge_server("serve@/src/a.py:1:3 > handle@/src/a.py:5:6 > [gc]", 300);
    assert_told(0, "stalls",
                "main stalls between its waits. Longest stall: 310 ms "
                "collecting garbage in handle a.py:6. That takes 60% of its other time. "
                "gc.freeze() makes a collection shorter.");
    assert_told(0, "stalls", " It waits 88% of its time in serve a.py:2 > recvfrom socket.");
    assert_not_told("waits");
    teardown();
    judge_server("serve@/src/a.py:1:3 > handle@/src/a.py:5:6 > [gc]", 50);
    assert_told(0, "stalls", "stall: 60 ms collecting garbage");
    teardown();
    judge_server("serve@/src/a.py:1:3 > handle@/src/a.py:5:6 > [gc]", 1200);
    assert_told(0, "stalls", "stall: 1210 ms collecting garbage");
    assert_not_told("gc"); /* once is enough */
    teardown();
}
END_TEST

/* Samples found it in its wait for half of the time; by the kernel's clock it ran. */
START_TEST(who_ran_does_not_wait)
{
    for (int runs = 0; runs < 2; runs++) {
        setup();
        wait_and_work(waits, handles, "serve@/src/a.py:1:3 > report@/src/a.py:7:8", 150);
        struct profile_thread *t = profile_get_thread(b.p, lead);
        if (runs)
            t->counts.ns[COUNTED_CPU] = INT64_C(9) * ROUNDS * ROUND_MS / 10 * NS_PER_MS;
        judge(ROUNDS * ROUND_MS + 160L);
        ck_assert_int_eq(is_said("main stalls"), !runs);
        teardown();
    }
}
END_TEST

START_TEST(who_waits_for_a_program_that_it_started_is_no_server)
{
    setup();
    wait_and_work(SERVES "Popen._communicate@/usr/lib/python3.11/subprocess.py:1:2 > "
                         "poll [blocked]",
                  handles, "serve@/src/a.py:1:3 > report@/src/a.py:7:8", 150);
    judge(ROUNDS * ROUND_MS + 160L);
    ck_assert(!is_said("main stalls"));
    teardown();
}
END_TEST

/* Requests that are answered at once are in no sample. */
START_TEST(one_pause_among_unseen_requests_is_told)
{
    for (uint32_t times = 4; times <= 40; times *= 10) {
        setup();
        builder_run(&b, lead, waits, 2000, 0);
        builder_run(&b, lead, "serve@/src/a.py:1:3 > handle@/src/a.py:5:6 > [gc]", 150, 150);
        builder_run(&b, lead, waits, 2000, 0);
        profile_get_thread(b.p, lead)->runs[0].waits = times;
        judge(4150);
        ck_assert_int_eq(is_said("Longest stall: 150 ms collecting garbage"), times == 40);
        teardown();
    }
}
END_TEST

START_TEST(a_stall_has_the_meaning_of_its_wait)
{
    judge_server("serve@/src/a.py:1:3 > note@/src/a.py:7:8 > sqlite3_step!libsqlite3.so.0 > "
                 "clock_nanosleep!libc.so.6 > clock_nanosleep [blocked]",
                 300);
    ck_assert(is_said("ms in note a.py:8"));
    ck_assert(is_said("SQLite tries again there: another connection has the database locked."));
    teardown();
}
END_TEST

START_TEST(what_a_request_stalls_in_is_told)
{
    judge_server("serve@/src/a.py:1:3 > report@/src/a.py:7:8", 150);
    assert_told(0, "stalls", "Longest stall: 160 ms in report a.py:8.");
    teardown();
    judge_server("serve@/src/a.py:1:3 > store@/src/a.py:7:8 > fsync /data/x [blocked]", 150);
    assert_told(0, "stalls", "Longest stall: 160 ms in store a.py:8 > fsync /data/x.");
    teardown();
}
END_TEST

/* Main sleeps 20 ms and draws for 10 ms, FRAMES times; once it draws for 120 ms more. */
static void play(int frames, const char *sleep)
{
    setup();
    for (int i = 0; i < frames; i++) {
        builder_run(&b, lead, sleep, 20, 0);
        struct profile_thread *t = profile_get_thread(b.p, lead);
        t->runs[t->n_runs - 1].waits = 1;
        builder_run(&b, lead, "play!game > draw!game", 10, 10);
        if (i == frames / 2)
            builder_run(&b, lead, "play!game > load_texture!game > uncompress!libz.so.1", 120, 120);
    }
    builder_run(&b, lead, sleep, 20, 0);
    judge(frames * 30L + 140L);
}

START_TEST(a_late_frame_is_told)
{
    static const char words[] = "Longest stall: 130 ms in uncompress, called from load_texture.";
    play(200, "play!game > clock_nanosleep!libc.so.6 > clock_nanosleep [blocked]");
    ck_assert(is_said(words));
    teardown();
    play(60, "play!game > clock_nanosleep!libc.so.6 > clock_nanosleep [blocked]"); /* too few */
    ck_assert(!is_said("Longest stall"));
    teardown();
}
END_TEST

/* By the kernel's counts main slept SLEPT times a tick while samples found it awake. */
static void sleep_between_samples(unsigned slept)
{
    struct profile_thread *t = profile_get_thread(b.p, lead);
    t->usage = (struct profile_usage){.over_ns = 4000L * NS_PER_MS, .involuntary = 3000};
    for (size_t i = 0; i < t->n_runs; i++) {
        struct run *run = &t->runs[i];
        run->weights.events.put_on_cpu = (uint32_t)run->samples * (slept + 5); /* preempted, too */
        bool blocked = run->state == RUN_BLOCKED;
        t->usage.voluntary += blocked ? run->weights.events.put_on_cpu : slept * run->samples;
    }
}

START_TEST(who_sleeps_between_any_two_samples_does_not_stall)
{
    for (unsigned slept = 0; slept <= 14; slept += 14) {
        setup();
        wait_and_work(waits, handles, "serve@/src/a.py:1:3 > report@/src/a.py:7:8", 150);
        sleep_between_samples(slept);
        judge(ROUNDS * ROUND_MS + 160L);
        ck_assert_int_eq(is_said("Longest stall: 160 ms in report a.py:8."), slept == 0);
        teardown();
    }
}
END_TEST

/* The holder is named, with what it does in that very time.  Before, main is nowhere known for a
 * moment. */
static void judge_held(enum wait_thing thing, const char *stack, const char *words)
{
    const struct wait_side side = {.thing = thing,
                                   .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = REFRESH},
                                   .addr = 4096};
    setup();
    for (int i = 0; i < ROUNDS; i++) {
        builder_run(&b, lead, waits, ROUND_MS - 10, 0);
        builder_run(&b, lead, handles, 10, 10);
        if (i == ROUNDS / 2) {
            builder_run(&b, lead, NULL, 10, 0);
            builder_held(&b, lead, stack, &side, 190);
        }
    }
    builder_run(&b, lead, waits, 10, 0);
    builder_run(&b, refresh, "tidy!server > write_all!server", 400, 400);
    judge(ROUNDS * ROUND_MS + 210L);
    assert_told(0, "stalls", words);
    teardown();
}

/* What works at a rate, and rests between. */
START_TEST(a_pause_between_rests_is_told)
{
    static const char rests[] = SERVES "clock_nanosleep [blocked]";
    setup();
    wait_and_work(rests, handles, "serve@/src/a.py:1:3 > handle@/src/a.py:5:6 > [gc]", 150);
    judge(ROUNDS * ROUND_MS + 160L);
    assert_told(0, "stalls",
                "main stalls between its waits. Longest stall: 160 ms collecting garbage in handle "
                "a.py:6.");
    assert_told(0, "stalls", " It sleeps 92% of its time in serve a.py:2 > clock_nanosleep.");
    teardown();
    setup(); /* to compute is what it is for */
    wait_and_work(rests, handles, handles, 150);
    judge(ROUNDS * ROUND_MS + 160L);
    assert_not_told("stalls");
    teardown();
}
END_TEST

/* What the worker lacks is a CPU, and nothing of the program's. */
START_TEST(a_late_turn_is_told_unless_whom_it_waits_for_has_no_cpu)
{
    enum { TURNS = 120, TURN_MS = 17, LATE_MS = 120 };
    static const char rests[] = "main!game > clock_nanosleep [blocked]";
    static const char idles[] = "work!game > read pipe [blocked]";
    for (int crowd = 0; crowd < 2; crowd++) {
        b = builder_start(PID, "game");
        lead = builder_thread(&b, PID, NULL);
        refresh = builder_thread(&b, REFRESH, "worker");
        for (int i = 0; i < TURNS; i++) {
            builder_run(&b, lead, rests, TURN_MS - 2, 0);
            builder_run(&b, lead, "main!game > draw!game", 2, 2);
            builder_run(&b, refresh, idles, TURN_MS, 0);
            if (i != TURNS / 2)
                continue;
            builder_run(&b, lead, NULL, 10, 0); /* one that had no stack */
            builder_run(&b, lead, "main!game > draw!game > pthread_cond_wait > futex [blocked]",
                        LATE_MS - 10, 0);
            if (crowd)
                builder_runnable(&b, refresh, "work!game > decode!game", LATE_MS);
            else
                builder_run(&b, refresh, "work!game > decode!game", LATE_MS, LATE_MS);
        }
        builder_run(&b, lead, rests, 10, 0);
        judge(TURNS * TURN_MS + LATE_MS + 10L);
        ck_assert_int_eq(is_said("main stalls between its waits. Longest stall: 122 ms"), !crowd);
        teardown();
    }
}
END_TEST

START_TEST(a_short_pause_of_an_event_loop_is_told)
{
    static const char polls[] = "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:2 > "
                                "epoll_wait eventpoll [blocked]";
    for (int i = 0; i < 2; i++) {
        setup();
        wait_and_work(polls,
                      "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:9 > "
                      "handle@/src/a.py:5:6",
                      i ? "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:9 > "
                          "handle@/src/a.py:5:6"
                        : "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:9 > "
                          "handle@/src/a.py:5:6 > [gc]",
                      60);
        judge(ROUNDS * ROUND_MS + 70L);
        ck_assert_int_eq(is_said("stall: 70 ms collecting garbage"), i == 0);
        ck_assert_int_eq(is_said("Longest stall"), i == 0);
        teardown();
    }
}
END_TEST

/* The processes of a server, each with a loop of its own. */
START_TEST(one_of_several_loops_stalls)
{
    enum { PROCESSES = 3 };
    static const char polls[] = "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:2 > "
                                "epoll_wait eventpoll [blocked]";
    static const char works[] = "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:9 > "
                                "handle@/src/a.py:5:6";
    b = builder_start(PID, "python3");
    for (int i = 0; i < PROCESSES; i++) {
        if (i)
            builder_process(&b, PID + i, "python3", NULL);
        lead = builder_thread(&b, PID + i, NULL);
        wait_and_work(polls, works, works, i == 1 ? 250 : 10);
    }
    judge(ROUNDS * ROUND_MS + 260L);
    assert_told(0, "event_loop",
                "10 (python3), 11 (python3) and 12 (python3) run event loops (asyncio) and are "
                "idle ");
    ck_assert(is_said("Longest stall of one of them: 260 ms in handle a.py:6. That takes 100% of "
                      "their other time."));
    teardown();
}
END_TEST

START_TEST(who_holds_what_a_request_waits_for_is_told)
{
    judge_held(THING_MUTEX,
               "serve@/src/a.py:1:3 > put@/src/a.py:7:8 > pthread_mutex_lock!libc.so.6",
               "Longest stall: 210 ms in put a.py:8, for a mutex held by refresh, which is then in "
               "tidy > write_all.");
}
END_TEST

/* Who computes most is not whose requests stall. */
START_TEST(a_server_stalls_for_the_gil_of_who_computes)
{
    const struct wait_side side = {.thing = THING_GIL,
                                   .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = REFRESH}};
    b = builder_start(PID, "server");
    lead = builder_thread(&b, PID, NULL);
    refresh = builder_thread(&b, REFRESH, "refresh");
    for (int i = 0; i < ROUNDS; i++) {
        builder_run(&b, lead, waits, ROUND_MS - 10, 0);
        builder_run(&b, lead, handles, 10, 10);
        if (i == ROUNDS / 2)
            builder_held(&b, lead, "serve@/src/a.py:1:3 > take_gil!python3", &side, 200);
    }
    builder_run(&b, lead, waits, 10, 0);
    builder_run(&b, refresh, "tidy@/src/a.py:20:21 > encode@/src/a.py:22:23", 4200, 4200);
    judge(ROUNDS * ROUND_MS + 210L);
    ck_assert(is_said("Longest stall: 210 ms in serve a.py:3, for the GIL held by refresh, which "
                      "is then in encode a.py:23."));
    teardown();
}
END_TEST

START_TEST(a_server_with_short_requests_does_not_stall)
{
    judge_server(handles, 60); /* under 100 ms, and no fault */
    assert_not_told("stalls");
    teardown();
    setup(); /* it waits for others' answers */
    wait_and_work(SERVES "recv!libc.so.6 > recvfrom 10.0.0.7:5432 [blocked]", handles, handles, 5);
    judge(ROUNDS * ROUND_MS + 15L);
    assert_not_told("stalls");
    teardown();
}
END_TEST

/* Whose wait is for a client serves, whatever function waits. */
START_TEST(who_waits_for_clients_serves)
{
    static const struct wait_side client = {.thing = THING_EVENTS,
                                            .blocker = {.kind = BLOCKER_UNKNOWN}};
    static const struct blocker kinds[] = {{.kind = BLOCKER_CLIENT, .net = NET_TCP},
                                           {.kind = BLOCKER_PEER, .net = NET_TCP}};
    for (size_t k = 0; k < 2; k++) {
        setup();
        struct wait_side side = client;
        side.list = profile_list_blocker(b.p, &kinds[k], (blocker_list){0});
        for (int i = 0; i < ROUNDS; i++) {
            builder_polls(&b, lead, "run@/src/a.py:1:2 > receive@/src/a.py:3:4", &side, 190);
            builder_run(&b, lead, "run@/src/a.py:1:2 > build@/src/a.py:7:8", i == 9 ? 160 : 10, 10);
        }
        judge(ROUNDS * ROUND_MS + 150L);
        ck_assert_int_eq(is_said("Longest stall: 160 ms in build a.py:8."), k == 0);
        teardown();
    }
}
END_TEST

/* A program that asks somebody and then computes with the answer has no requests. */
START_TEST(who_returns_from_the_wait_is_no_server)
{
    setup();
    wait_and_work("run@/src/a.py:1:2 > fetch@/src/a.py:3:4 > " RECEIVES, "run@/src/a.py:1:2",
                  "run@/src/a.py:1:2 > build@/src/a.py:7:8", 300);
    judge(ROUNDS * ROUND_MS + 310L);
    assert_not_told("stalls");
    ck_assert(!is_said("other time"));
    teardown();
}
END_TEST

START_TEST(what_most_of_the_rest_goes_into_is_told)
{
    judge_server(handles, 5);
    assert_told(0, "waits", "It spends 100% of its other time in handle a.py:6.");
    teardown();
    setup(); /* half of it, and no more */
    for (int i = 0; i < ROUNDS; i++) {
        builder_run(&b, lead, waits, ROUND_MS - 20, 0);
        builder_run(&b, lead, handles, 9, 9);
        builder_run(&b, lead, "serve@/src/a.py:1:3 > log@/src/a.py:9:9", 11, 11);
    }
    builder_run(&b, lead, waits, 10, 0);
    judge(ROUNDS * ROUND_MS + 10L);
    assert_told(0, "waits", "It spends 55% of its other time in log a.py:9.");
    teardown();
}
END_TEST

START_TEST(time_for_a_cpu_after_the_wait_is_no_work)
{
    setup();
    for (int i = 0; i < ROUNDS; i++) {
        builder_run(&b, lead, waits, ROUND_MS - 20, 0);
        builder_runnable(&b, lead, SERVES "recv!libc.so.6", 20);
    }
    builder_run(&b, lead, waits, 10, 0);
    judge(ROUNDS * ROUND_MS + 10L);
    ck_assert(!is_said("other time"));
    teardown();
}
END_TEST

/* A result of a thread's own, a lock and an end are no requests. */
START_TEST(a_wait_for_a_result_is_none_for_requests)
{
    static const char *const stacks[] = {
        SERVES "Future.result@/usr/lib/python3.11/concurrent/futures/_base.py:1:2 > "
               "pthread_cond_wait!libc.so.6 > futex [blocked]",
        SERVES "Thread.join@/usr/lib/python3.11/threading.py:1:2 > "
               "pthread_cond_wait!libc.so.6 > futex [blocked]",
        SERVES "pthread_mutex_lock!libc.so.6 > futex [blocked]",
        SERVES "wait4 [blocked]",
    };
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        setup();
        wait_and_work(stacks[i], handles, handles, 300);
        judge(ROUNDS * ROUND_MS + 310L);
        assert_not_told("stalls");
        teardown();
    }
}
END_TEST

CHECK_MAIN("findings_stalls", 20, a_pause_of_the_collector_is_told_with_what_helps,
           a_late_frame_is_told, who_sleeps_between_any_two_samples_does_not_stall,
           who_ran_does_not_wait, who_waits_for_a_program_that_it_started_is_no_server,
           one_pause_among_unseen_requests_is_told, a_stall_has_the_meaning_of_its_wait,
           what_a_request_stalls_in_is_told, a_pause_between_rests_is_told,
           a_late_turn_is_told_unless_whom_it_waits_for_has_no_cpu,
           a_short_pause_of_an_event_loop_is_told, one_of_several_loops_stalls,
           who_holds_what_a_request_waits_for_is_told, a_server_stalls_for_the_gil_of_who_computes,
           a_server_with_short_requests_does_not_stall, who_waits_for_clients_serves,
           who_returns_from_the_wait_is_no_server, what_most_of_the_rest_goes_into_is_told,
           time_for_a_cpu_after_the_wait_is_no_work, a_wait_for_a_result_is_none_for_requests)
