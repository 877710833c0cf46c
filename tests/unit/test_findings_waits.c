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

/* The shorter part of a wait, until all but one of those who had the pipe's end have ended. */
START_TEST(who_is_left_of_several_is_waited_for_from_the_beginning)
{
    for (uint32_t waits = 0; waits <= 1; waits++) { /* 1: the first part is a wait of its own */
        struct wait_side side = {.thing = THING_PIPE, .blocker = {.kind = BLOCKER_SEVERAL, .n = 2}};
        setup();
        builder_polls(&b, lead, "read_all!app", &side, 1500);
        struct profile_thread *thread = profile_get_thread(b.p, lead);
        thread->runs[thread->n_runs - 1].waits = waits;
        side.blocker = (struct blocker){
            .kind = BLOCKER_PROCESS, .pid = 30, .tid = 30, .name = profile_string(b.p, "sleep")};
        builder_polls(&b, lead, "read_all!app", &side, 2500);
        judge(4000);
        ck_assert_int_eq(is_said("30 (sleep), which has the pipe's other end"), waits == 0);
        teardown();
    }
}
END_TEST

START_TEST(who_inherited_a_pipes_end_is_told_with_its_descriptor)
{
    struct wait_side side = {.thing = THING_PIPE};
    setup();
    side.blocker = (struct blocker){.kind = BLOCKER_PROCESS,
                                    .pid = 30,
                                    .tid = 30,
                                    .name = profile_string(b.p, "sleep"),
                                    .fd = 4};
    builder_polls(&b, lead, "read_all!app", &side, 4000);
    judge(4000);
    ck_assert(is_said("It waits for 30 (sleep), which has the pipe's other end as descriptor 4. If "
                      "it only inherited that, open the pipe with O_CLOEXEC (pipe(2))."));
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

/* Who waits for their mutex waits because of that. */
START_TEST(a_herd_that_waits_for_its_mutex_is_told_who_wakes_it)
{
    enum { THREADS = 8 };
    static const char take[] = "work!app > take!app > ";
    setup();
    builder_run(&b, lead, "main!app > submit!app > pthread_cond_broadcast!libc.so.6", 2000, 2000);
    builder_run(&b, lead, "main!app > await!app > pthread_cond_wait!libc.so.6 > futex [blocked]",
                2000, 0);
    for (int i = 0; i < THREADS; i++) {
        char name[] = "task-0";
        struct text stack = {0};
        name[strlen(name) - 1] = (char)('0' + i);
        thread_id t = builder_thread(&b, 11 + i, name);
        text_addf(&stack, "%spthread_mutex_lock!libc.so.6 > futex [blocked]", take);
        builder_run(&b, t, stack.s, 2400, 0);
        text_clear(&stack);
        text_addf(&stack, "%spthread_cond_wait!libc.so.6 > futex [blocked]", take);
        builder_run(&b, t, stack.s, 1400, 0);
        builder_run(&b, t, "work!app", 200, 200);
        profile_get_thread(b.p, t)->usage =
            (struct profile_usage){.over_ns = 4000L * NS_PER_MS, .voluntary = 20000};
        text_release(&stack);
    }
    judge(4000);
    assert_told(0, "waits_lock",
                "main may wake them all, in submit > pthread_cond_broadcast: if one "
                "is enough");
    teardown();
}
END_TEST

/* Six threads wait in WAIT, thousands of times a second; main wakes all, by broadcast. */
static bool may_wake(const char *wait)
{
    bool may = false;
    struct text stack = {0};
    setup();
    text_addf(&stack, "%s > pthread_cond_wait!libc.so.6 > futex [blocked]", wait);
    builder_run(&b, lead, "main!app > submit!app > pthread_cond_broadcast!libc.so.6", 400, 400);
    builder_run(&b, lead, "main!app > rest!app > nanosleep [blocked]", 3600, 0);
    for (int i = 0; i < 6; i++) {
        thread_id t = builder_thread(&b, 11 + i, "taskq");
        builder_run(&b, t, stack.s, 3900, 0);
        builder_run(&b, t, "taskq!app", 100, 100);
        profile_get_thread(b.p, t)->runs[0].weights.events.put_on_cpu = 10000;
        profile_get_thread(b.p, t)->usage = (struct profile_usage){
            .over_ns = 4000L * NS_PER_MS, .voluntary = 13000, .system_ns = 50 * NS_PER_MS};
    }
    judge(4000);
    for (size_t i = 0; i < found.n; i++)
        may |= found.items[i].words && strstr(found.items[i].words, "may wake them all");
    teardown();
    text_release(&stack);
    return may;
}

/* Each of them is woken by a result of its own. */
START_TEST(who_waits_for_a_result_is_no_herd)
{
#define CONDITION " > wait@/usr/lib/python3.11/threading.py:1:2"
    ck_assert(may_wake("taskq!app"));
    ck_assert(may_wake("sell@/src/a.py:1:2" CONDITION));
    ck_assert(!may_wake("sell@/src/a.py:1:2 > result@/usr/lib/python3.11/concurrent/futures/"
                        "_base.py:1:2" CONDITION));
}
END_TEST

CHECK_MAIN(
    "findings_waits", 20, who_waits_for_a_result_is_no_herd,
    a_loop_that_waits_for_one_child_is_told_as_such,
    a_herd_that_waits_for_its_mutex_is_told_who_wakes_it, several_that_share_a_lock_are_named,
    who_is_left_of_several_is_waited_for_from_the_beginning,
    who_inherited_a_pipes_end_is_told_with_its_descriptor, what_workers_at_the_other_end_do_is_told,
    threads_that_run_one_after_the_other_are_told_to,
    who_is_of_another_family_ends_no_wait_for_a_thread, who_is_not_waited_for_is_not_told_meanwhile,
    threads_that_serve_come_before_an_event_loop_that_idles,
    a_sleep_of_sqlite_is_a_wait_for_its_lock, a_retry_is_told_also_where_nobody_ran,
    what_a_queues_process_waits_for_is_told, where_main_is_idle_the_threads_that_serve_are_told_of,
    where_nothing_stands_out_the_largest_ends_are_told, a_wait_for_a_lock_is_told_beside_a_sleep,
    two_long_waits_are_both_told, a_wait_comes_before_a_sleep_that_is_a_little_longer)
