/* Whose time the answer is about, and whose function it names. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

static thread_id lead;
static thread_id other;

static void setup(void)
{
    b = builder_start(10, "app");
    lead = builder_thread(&b, 10, NULL);
    other = builder_thread(&b, 11, "reloader");
}

/* MAIN: what the main thread is in, for nearly all of the time, while another one computes. */
static void judge_main_in(const char *main)
{
    setup();
    builder_run(&b, lead, main, 3990, 0);
    builder_run(&b, lead, "serve@/src/a.py:1:2", 10, 10);
    builder_run(&b, other, "find@/src/a.py:5:6", 3600, 3600);
    builder_run(&b, other, "rest@/src/a.py:9:9 > clock_nanosleep [blocked]", 400, 0);
    judge(4000);
}

START_TEST(who_only_looks_after_others_does_not_lead)
{
    judge_main_in("serve@/src/a.py:1:2 > clock_nanosleep [blocked]");
    assert_told(0, "computes", "reloader computes: it ran 90% of 4.0 s, 90% in find a.py:6");
    teardown();
    judge_main_in("main!app > __pthread_clockjoin_ex!libc.so.6 > futex [blocked]");
    assert_told(0, "computes", "reloader computes");
    teardown();
}
END_TEST

/* Where others take the CPUs a main thread that works now and then waits long for one, and does no
 * more by that. */
START_TEST(who_waits_for_a_cpu_now_and_then_does_not_lead)
{
    static const char works[] = "serve@/src/a.py:1:2 > step@/src/a.py:20:21";
    for (int rests = 0; rests <= 1; rests++) {
        setup();
        for (int i = 0; i < 20; i++) {
            builder_run(&b, lead, "serve@/src/a.py:1:2 > clock_nanosleep [blocked]",
                        rests ? 156 : 80, 0);
            builder_run(&b, lead, works, 4, 4);
            builder_runnable(&b, lead, works, rests ? 40 : 116);
        }
        builder_run(&b, other, "load@/src/a.py:5:6 > flock /data/lock [blocked]", 4000, 0);
        judge(4000);
        ck_assert_str_eq(found.ledger.leader->noun, rests ? "reloader" : "main");
        teardown();
    }
}
END_TEST

/* As java's first thread, which waits for the one that runs main(). */
START_TEST(who_only_joins_a_thread_is_a_stand_in_for_that_one)
{
    static const char joins[] = "main!java > pthread_join!libc.so.6";
    static const char waits[] = "JavaMain!java > wait!java > pthread_cond_wait!libc.so.6 > "
                                "futex [blocked]";
    for (int joined = 1; joined <= 2; joined++) {
        struct wait_side side = {.thing = THING_THREAD,
                                 .blocker = {.kind = BLOCKER_THREAD, .pid = 10, .tid = 11}};
        setup();
        thread_id cleaner = builder_thread(&b, 12, "cleaner");
        builder_held(&b, lead, joins, &side, 2000);
        side.blocker.tid = 10 + joined;
        builder_held(&b, lead, joins, &side, 2000);
        for (int i = 0; i < 20; i++) {
            builder_run(&b, other, waits, 195, 0);
            builder_run(&b, other, "JavaMain!java", 5, 5);
        }
        builder_run(&b, cleaner, "clean!java > pthread_cond_wait!libc.so.6 > futex [blocked]", 4000,
                    0);
        judge(4000);
        ck_assert_str_eq(found.ledger.leader->noun, joined == 1 ? "reloader" : "main");
        if (joined == 1)
            assert_told(0, "waits", "reloader waits 98% of its time in");
        teardown();
    }
}
END_TEST

/* Before it waits for a thread's end, on which that one waits, too. */
START_TEST(who_computes_much_leads_though_it_joins_a_thread)
{
    struct wait_side side = {.thing = THING_THREAD,
                             .blocker = {.kind = BLOCKER_THREAD, .pid = 10, .tid = 11}};
    setup();
    builder_run(&b, lead, "main!app > fold!app", 1800, 1800);
    builder_held(&b, lead, "main!app > pthread_join!libc.so.6", &side, 2200);
    builder_run(&b, other, "send!app > sendto 10.0.0.7:80 [blocked]", 4000, 0);
    judge(4000);
    ck_assert_str_eq(found.ledger.leader->noun, "main");
    teardown();
}
END_TEST

START_TEST(a_wait_for_connections_is_none_for_somebody)
{
    static const struct blocker clients = {.kind = BLOCKER_LISTENER, .net = NET_TCP};
    struct wait_side side = {.thing = THING_EVENTS};
    setup();
    side.list = profile_list_blocker(b.p, &clients, (blocker_list){0});
    builder_polls(&b, lead, "main!app > serve!app", &side, 4000);
    builder_run(&b, other, "find!app", 4000, 4000);
    judge(4000);
    assert_told(0, "computes", "reloader computes");
    assert_not_told("waits_meanwhile");
    teardown();
}
END_TEST

/* A daemon's main thread waits until it is told to end. */
/* A client that sends nothing keeps all others out of a server that takes one after the other. */
START_TEST(a_client_that_keeps_others_out_leads)
{
    static const char reads[] = "serve_forever@/src/a.py:5:6 > readinto@/src/a.py:8:9";
    for (int accepted = 0; accepted <= 1; accepted++) {
        struct wait_side side = {.thing = THING_SOCKET,
                                 .blocker = {.kind = BLOCKER_CLIENT, .port = 40000, .n = 1}};
        setup();
        for (int i = 0; i < 20; i++) {
            builder_run(&b, lead, "main@/src/a.py:1:2 > clock_nanosleep [blocked]", 196, 0);
            builder_run(&b, lead, "main@/src/a.py:1:2", 4, 4);
        }
        builder_held(&b, other, reads, &side, 4000);
        side.blocker.kind = BLOCKER_LISTENER;
        if (accepted)
            builder_polls(&b, builder_thread(&b, 12, "accepts"), "accept@/src/a.py:3:4", &side,
                          4000);
        judge(4000);
        ck_assert_str_eq(found.ledger.leader->noun, accepted ? "main" : "reloader");
        if (!accepted)
            assert_told(0, "waits", "Meanwhile no recorded thread accepts another client.");
        teardown();
    }
}
END_TEST

START_TEST(a_wait_for_signals_is_none_for_somebody)
{
    static const struct blocker signals = {.thing = THING_SIGNALS};
    static const char *const waits[] = {"main!app > sigwait!libc.so.6 > rt_sigtimedwait [blocked]",
                                        "main!app > read signalfd [blocked]", NULL};
    for (int i = 0; i < 3; i++) {
        struct wait_side side = {.thing = THING_EVENTS};
        setup();
        side.list = profile_list_blocker(b.p, &signals, (blocker_list){0});
        if (waits[i])
            builder_run(&b, lead, waits[i], 4000, 0);
        else
            builder_polls(&b, lead, "main!app", &side, 4000);
        builder_run(&b, other, "find!app", 4000, 4000);
        judge(4000);
        assert_told(0, "computes", "reloader computes");
        assert_not_told("waits_meanwhile");
        teardown();
    }
}
END_TEST

#define LOOP "_run_once@/usr/lib/python3.11/asyncio/base_events.py"
/* One that has waited for messages all the time is late for nobody; the loop may be. */
START_TEST(a_listener_does_not_lead_beside_a_loop_at_work)
{
    for (int works = 0; works < 2; works++) {
        setup();
        for (int i = 0; i < 10; i++) {
            builder_run(&b, lead,
                        LOOP ":1:2 > select@/usr/lib/python3.11/selectors.py:1:2 > "
                             "epoll_wait [blocked]",
                        works ? 370 : 400, 0);
            if (works)
                builder_run(&b, lead, LOOP ":1:9 > build@/src/web.py:1:2", 30, 30);
        }
        builder_run(&b, other, "listen@/src/a.py:5:6 > recvfrom 10.0.0.5:80 [blocked]", 4000, 0);
        judge(4000);
        ck_assert_str_eq(found.ledger.leader->noun, works ? "main" : "reloader");
        teardown();
    }
}
END_TEST

/* As of a backend of PostgreSQL's, whose process looks like those that wait for their clients. */
START_TEST(a_wait_whose_meaning_is_known_is_none_for_work)
{
    static const struct blocker clients = {.kind = BLOCKER_LISTENER, .net = NET_TCP};
    static const struct blocker main = {.kind = BLOCKER_PEER, .pid = 10};
    struct wait_side side = {.thing = THING_EVENTS};
    struct wait_side pipe = {.thing = THING_EVENTS};
    setup();
    side.list = profile_list_blocker(b.p, &clients, (blocker_list){0});
    pipe.list = profile_list_blocker(b.p, &main, (blocker_list){0});
    builder_polls(&b, lead, "main!postgres > serve!postgres", &side, 4000);
    builder_polls(&b, other,
                  "update!postgres > LockAcquireExtended!postgres > ProcSleep!postgres > "
                  "WaitLatch!postgres > WaitEventSetWait!postgres",
                  &pipe, 4000);
    judge(4000);
    assert_told(0, "waits",
                "reloader waits 100% of its time in update > LockAcquireExtended > epoll_wait. "
                "Another session has that lock: pg_blocking_pids(), of this process's PID, says "
                "which.");
    teardown();
}
END_TEST

/* Whichever is listed first. */
START_TEST(a_poll_for_a_database_too_is_one_for_somebody)
{
    static const struct blocker clients = {.kind = BLOCKER_LISTENER, .net = NET_TCP};
    static const struct blocker own = {.kind = BLOCKER_ITSELF, .thing = THING_EVENTFD};
    struct blocker database = {.kind = BLOCKER_PEER, .net = NET_TCP, .port = 5432};
    for (int waits = 0; waits < 2; waits++) {
        struct wait_side side = {.thing = THING_EVENTS};
        setup();
        database.host = profile_string(b.p, "10.0.0.7");
        side.list = profile_list_blocker(b.p, waits ? &database : &own, side.list);
        side.list = profile_list_blocker(b.p, &clients, side.list);
        builder_polls(&b, lead, "main!app > ask!app", &side, 4000);
        builder_run(&b, other, "find!app", 4000, 4000);
        judge(4000);
        assert_told(0, waits ? "waits_meanwhile" : "computes", waits ? "ask" : "reloader computes");
        teardown();
    }
}
END_TEST

START_TEST(a_main_thread_that_waits_for_an_answer_leads)
{
    judge_main_in("ask@/src/a.py:1:2 > recvfrom 10.0.0.7:5432 [blocked]");
    assert_told(0, "waits", "main waits 100% of its time in ask a.py:2");
    teardown();
}
END_TEST

/* As judge(), for whom the user asked. */
static void judge_for(const char *leader, const char *first)
{
    struct view_options options = {.leader = leader};
    struct groups groups;
    struct findings findings;
    setup();
    builder_run(&b, lead, "fold@/src/a.py:1:2", 4000, 4000);
    builder_run(&b, other, "ask@/src/a.py:5:6 > recvfrom 10.0.0.7:5432 [blocked]", 4000, 0);
    profile_end(b.p, 4000L * NS_PER_MS);
    groups_init(&groups, b.p, &options);
    findings_init(&findings, &groups);
    ck_assert_uint_ge(findings.n_printed, 1);
    if (!strstr(findings.printed[0]->words, first))
        ck_abort_msg("\"%s\" is not in \"%s\"", first, findings.printed[0]->words);
    findings_release(&findings);
    groups_release(&groups);
    profile_free(b.p);
}

START_TEST(a_user_says_whose_time_it_is)
{
    judge_for(NULL, "main computes");
    judge_for("reloader", "reloader waits 100%");
    judge_for("11", "reloader waits 100%");
    judge_for("12", "No recorded thread is called 12, or has that tid: the answer is about the "
                    "time of main. The table has the names.");
}
END_TEST

/* Who waits for a result has work; for work it is a helper. */
START_TEST(who_waits_for_a_result_leads_where_main_rests)
{
    static const char *const waits[] = {
        "handle@/src/a.py:5:6 > Future.result@/usr/lib/python3.11/concurrent/futures/_base.py:1:2 "
        "> "
        "Condition.wait@/usr/lib/python3.11/threading.py:1:2 > sem_wait!libc.so.6 > "
        "futex [blocked]",
        "work@/src/a.py:5:6 > Queue.get@/usr/lib/python3.11/queue.py:1:2 > "
        "Condition.wait@/usr/lib/python3.11/threading.py:1:2 > sem_wait!libc.so.6 > "
        "futex [blocked]"};
    for (size_t i = 0; i < 2; i++) {
        setup();
        builder_run(&b, lead, "pace@/src/a.py:1:2 > clock_nanosleep [blocked]", 4000, 0);
        builder_run(&b, other, waits[i], 3900, 0);
        builder_run(&b, other, "work@/src/a.py:5:6", 100, 100);
        judge(4000);
        assert_told(0, "waits",
                    i ? "main sleeps 100%" : " waits 98% of its time in handle a.py:6 > Future.");
        teardown();
    }
}
END_TEST

/* A server that waits for another one's idle loop is told first. */
START_TEST(an_idle_loop_keeps_nobody)
{
    setup();
    builder_process(&b, 20, "upstream", "");
    thread_id upstream = builder_thread(&b, 20, NULL);
    builder_run(&b, upstream,
                "serve_forever@/usr/lib/python3.11/socketserver.py:1:9 > "
                "_PollLikeSelector.select@/usr/lib/python3.11/selectors.py:1:2 > "
                "poll!libc.so.6 > poll [blocked]",
                4000, 0);
    builder_run(&b, lead, "ask@/src/a.py:1:2 > recvfrom socket [blocked]", 3900, 0);
    builder_run(&b, lead, "ask@/src/a.py:1:2", 100, 100);
    judge(4000);
    assert_told(0, "waits", "waits 98% of its time in ask a.py:2 > recvfrom socket.");
    teardown();
}
END_TEST

START_TEST(helpers_without_work_do_not_lead)
{
    setup();
    builder_run(&b, lead, "pace@/src/a.py:1:2 > clock_nanosleep [blocked]", 4000, 0);
    builder_run(&b, other, "take!app > pthread_cond_wait!libc.so.6 > futex [blocked]", 3900, 0);
    builder_run(&b, other, "take!app", 100, 100);
    judge(4000);
    assert_told(0, "waits", "main sleeps 100% of its time in pace a.py:2");
    teardown();
}
END_TEST

START_TEST(alike_processes_that_lead_wait_for_the_one_that_is_busy)
{
    b = builder_start(10, "app");
    for (int i = 0; i < 3; i++) {
        if (i)
            builder_process(&b, 10 + i, i < 2 ? "app" : "store", "");
        thread_id main = builder_thread(&b, 10 + i, NULL);
        if (i < 2)
            builder_run(&b, main, "ask@/src/a.py:1:2 > recvfrom socket [blocked]", 4000, 0);
        else
            builder_run(&b, main, "sum@/src/b.py:1:2", 4000, 4000);
    }
    judge(4000);
    assert_told(0, "waits_meanwhile",
                "10 (app) and 11 (app) wait 100% of their time in ask a.py:2. Meanwhile 12 (store) "
                "is 100% in sum b.py:2.");
    teardown();
}
END_TEST

/* ---- the figure of a function ---- */

START_TEST(a_function_has_the_time_of_all_that_libraries_do_for_it)
{
    setup();
    for (int i = 0; i < 10; i++) {
        builder_run(&b, lead, "save@/src/a.py:1:2 > encode@/usr/lib/python3.11/json/x.py:1:2", 150,
                    150);
        builder_run(&b, lead, "save@/src/a.py:1:3 > write@/usr/lib/python3.11/json/x.py:7:8", 140,
                    140);
        builder_run(&b, lead, "load@/src/a.py:5:6", 110, 110);
    }
    judge(4000);
    assert_told(0, "computes",
                "main computes: it ran 100% of 4.0 s, 73% in save a.py:2 (38% encode, 35% write) "
                "and 28% in load a.py:6.");
    teardown();
}
END_TEST

#define SITE   "@/venv/lib/python3.11/site-packages/"
#define SCRIPT "<module>@/venv/bin/acme:1:8"
/* It lies among the libraries, and only the script that pip wrote is elsewhere. */
START_TEST(a_program_that_pip_installed_is_the_users)
{
    static const struct {
        const char *from, *package;
        bool own;
    } cases[] = {
        {SCRIPT, "acme", true},
        {"_run_module_as_main@<frozen runpy>:1:2 > _run_code@<frozen runpy>:1:2 > "
         "<module>" SITE "acme/__main__.py:1:2",
         "acme", true},
        {SCRIPT, "gunicorn", false}, /* known.def knows it: it runs others' programs */
        {SCRIPT, "airflow", false},
        {SCRIPT " > main@/venv/bin/acme:3:4", "acme", false}, /* a script with work of its own */
        {"<module>@/home/me/bin/acme:1:8", "acme", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char *const functions[] = {"parse", "store"};
        setup();
        for (int k = 0; k < 2; k++) {
            char *stack =
                xasprintf("%s > main" SITE "%s/cli.py:1:9 > %s" SITE "%s/%s.py:1:5", cases[i].from,
                          cases[i].package, functions[k], cases[i].package, functions[k]);
            builder_run(&b, lead, stack, 2000, 2000);
            free(stack);
        }
        judge(4000);
        ck_assert_msg(is_said("50% in parse parse.py:5 and 50% in store store.py:5") ==
                          cases[i].own,
                      "%zu", i);
        teardown();
    }
}
END_TEST

/* As DAGs of Airflow's, which lie in /opt/airflow. */
START_TEST(a_folder_called_as_a_library_is_the_users)
{
    setup();
    builder_run(&b, lead,
                "<module>@/opt/airflow/dags/sales.py:1:8 > load@/opt/airflow/dags/a.py:1:5", 4000,
                4000);
    judge(4000);
    assert_told(0, "computes", "main computes: it ran 100% of 4.0 s, 100% in load a.py:5");
    teardown();
}
END_TEST

START_TEST(a_native_function_keeps_its_caller)
{
    setup();
    for (int i = 0; i < 10; i++) {
        builder_run(&b, lead, "main!app > read!app|/src/a.c:3 > now!app|/src/a.c:9", 100, 100);
        builder_run(&b, lead,
                    "main!app > read!app|/src/a.c:3 > now!app|/src/a.c:8 > clock_gettime!libc.so.6",
                    300, 300);
    }
    judge(4000);
    assert_told(0, "computes", "in read a.c:3 > now a.c:8 (75% clock_gettime).");
    teardown();
}
END_TEST

START_TEST(a_wait_has_the_figure_of_its_function)
{
#define WAITS " > sync!app|/src/q.c:9 > pthread_cond_wait!libc.so.6 > futex [blocked]"
    setup();
    builder_run(&b, lead, "main!app > read!app|/src/a.c:3" WAITS, 2400, 0);
    builder_run(&b, lead, "main!app > loss!app|/src/a.c:5" WAITS, 1600, 0);
    builder_run(&b, other, "work!app", 4000, 4000);
    judge(4000);
    assert_told(0, "waits_meanwhile",
                "main waits 100% of its time in sync q.c:9, mainly called from read a.c:3. "
                "Meanwhile reloader is 100% in work.");
    teardown();
}
END_TEST

/* A thread that was woken, and waits for a CPU or runs until the function returns. */
START_TEST(the_way_out_of_a_wait_is_part_of_it)
{
    setup();
    builder_run(&b, lead, "log!app|/src/q.c:9 > pthread_cond_wait!libc.so.6 > futex [blocked]",
                2800, 0);
    builder_runnable(
        &b, lead, "log!app|/src/q.c:9 > pthread_cond_wait!libc.so.6 > futex_wait!libc.so.6", 600);
    builder_run(&b, lead, "log!app|/src/q.c:9 > pthread_cond_signal!libc.so.6", 600, 600);
    builder_run(&b, other, "work!app", 4000, 4000);
    judge(4000);
    assert_told(0, "waits_meanwhile", "main waits 85% of its time in log q.c:9. Meanwhile");
    teardown();
}
END_TEST

/* ---- a CPU that others have ---- */

START_TEST(a_wait_for_a_cpu_belongs_to_what_is_computed)
{
    setup();
    *profile_get_host(b.p) = (struct profile_host){
        .over_ns = 4000L * NS_PER_MS, .cpus_online = 2, .others_ns = 6000L * NS_PER_MS};
    builder_run(&b, lead, "fold@/src/a.py:1:2", 2800, 2800);
    builder_runnable(&b, lead, "fold@/src/a.py:1:2", 1200);
    judge(4000);
    assert_told(0, "computes",
                "main computes: it ran 70% of 4.0 s and waited 30% for a CPU, 100% in fold a.py:2. "
                "It may use 2 CPUs; this recording's threads wanted 1.0, other programs used 1.5 "
                "CPUs.");
    assert_not_told("cpu_wait");
    teardown();
}
END_TEST

/* The program is a module of the user's that another one imports; it rests. */
START_TEST(a_main_thread_that_rests_in_an_imported_program_does_not_lead)
{
    b = builder_start(10, "app");
    lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead,
                "<module>@/src/run.py:1:1 > _find_and_load@<frozen importlib._bootstrap>:1:2 > "
                "<module>@/src/server.py:1:99 > clock_nanosleep [blocked]",
                4000, 0);
    builder_run(&b, builder_thread(&b, 11, "worker"), "work@/src/server.py:5:6", 4000, 4000);
    judge(4000);
    assert_told(0, "computes", "worker computes: it ran 100% of 4.0 s, 100% in work server.py:6.");
    teardown();
}
END_TEST

/* The handlers of a server whose results one thread computes, while others rest. */
START_TEST(handlers_that_lead_wait_for_the_one_that_is_busy)
{
    setup();
    builder_run(&b, lead, "serve@/src/a.py:1:2 > accept socket [blocked]", 4000, 0);
    for (pid_t tid = 11; tid <= 14; tid++) {
        thread_id t = builder_thread(&b, tid, "handler");
        for (int i = 0; i < 10; i++) {
            builder_run(&b, t,
                        "handle@/src/a.py:1:9 > Future.result@/usr/lib/python3.11/concurrent/"
                        "futures/_base.py:1:2 > pthread_cond_wait!libc.so.6 > futex [blocked]",
                        360, 0);
            builder_run(&b, t, "handle@/src/a.py:1:10", 40, 40);
        }
    }
    thread_id metrics = builder_thread(&b, 20, "metrics");
    builder_run(&b, metrics, "report@/src/m.py:1:2 > clock_nanosleep [blocked]", 4000, 0);
    builder_run(&b, builder_thread(&b, 22, "batcher"), "infer@/src/b.py:1:2", 4000, 4000);
    judge(4000);
    ck_assert(is_said("4 handler threads wait 90% of their time in"));
    ck_assert(is_said("Meanwhile batcher is 100% in infer b.py:2"));
    teardown();
}
END_TEST

CHECK_MAIN("findings_leader", 60, handlers_that_lead_wait_for_the_one_that_is_busy,
           a_wait_whose_meaning_is_known_is_none_for_work, a_wait_for_signals_is_none_for_somebody,
           a_listener_does_not_lead_beside_a_loop_at_work,
           who_only_joins_a_thread_is_a_stand_in_for_that_one,
           who_computes_much_leads_though_it_joins_a_thread,
           a_main_thread_that_rests_in_an_imported_program_does_not_lead,
           who_only_looks_after_others_does_not_lead,
           who_waits_for_a_cpu_now_and_then_does_not_lead,
           a_poll_for_a_database_too_is_one_for_somebody,
           a_wait_for_connections_is_none_for_somebody, a_client_that_keeps_others_out_leads,
           a_main_thread_that_waits_for_an_answer_leads, a_user_says_whose_time_it_is,
           who_waits_for_a_result_leads_where_main_rests, an_idle_loop_keeps_nobody,
           helpers_without_work_do_not_lead,
           alike_processes_that_lead_wait_for_the_one_that_is_busy,
           a_function_has_the_time_of_all_that_libraries_do_for_it,
           a_program_that_pip_installed_is_the_users, a_folder_called_as_a_library_is_the_users,
           a_native_function_keeps_its_caller, a_wait_has_the_figure_of_its_function,
           the_way_out_of_a_wait_is_part_of_it, a_wait_for_a_cpu_belongs_to_what_is_computed)
