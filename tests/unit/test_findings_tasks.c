/* What tasks of asyncio's wait for while their loop idles: a limit, a free thread. */
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

enum { PID = 10, ALL_MS = 4000, THREADS = 3 };
#define ASYNCIO "@/usr/lib/python3.11/asyncio/"
#define FETCH   "ask@/src/a.py:1:2 > fetch@/src/a.py:4:5 > "
static const char polls[] = "_run_once" ASYNCIO "base_events.py:1:9 > "
                            "EpollSelector.select@/usr/lib/python3.11/selectors.py:4:9 > "
                            "epoll_wait [blocked]";
static thread_id lead;

static void add_loop(int pid, int64_t idle_ms)
{
    lead = builder_thread(&b, pid, NULL);
    builder_run(&b, lead, polls, idle_ms, 0);
    builder_run(&b, lead, "answer@/src/a.py:7:9", ALL_MS - idle_ms, ALL_MS - idle_ms);
}

static void setup(int64_t idle_ms)
{
    b = builder_start(PID, "python3");
    add_loop(PID, idle_ms);
}

/* N of OF tasks wait in STACK, and otherwise as WAIT says. */
static void tasks(size_t n, size_t of, const char *stack, struct profile_task_wait wait)
{
    wait.process = b.process;
    wait.stack = builder_stack(&b, stack);
    wait.n = n;
    wait.of = of;
    profile_add_task_wait(b.p, &wait);
}

static const struct profile_task_wait one_object = {.apart = false}, apart = {.apart = true},
                                      for_thread = {.for_thread = true, .apart = true},
                                      for_future = {.for_future = true, .apart = true};

/* ---- a limit ---- */

START_TEST(where_most_tasks_wait_is_told_as_a_fact)
{
    setup(3900);
    tasks(190, 201,
          FETCH "Connector.connect@/src/a.py:10:11 > Semaphore.acquire" ASYNCIO "locks.py:9:9",
          one_object);
    tasks(10, 201, FETCH "sleep" ASYNCIO "tasks.py:9:9", for_future);
    judge(ALL_MS);
    assert_told(
        0, "tasks_wait",
        "190 of 201 asyncio tasks waited for one semaphore when the recording ended, in "
        "fetch a.py:5 > Connector.connect a.py:11 > Semaphore.acquire. 10 others got past it, and "
        "waited in fetch a.py:5 > sleep. main runs their event loop and is idle 98% "
        "of its time.");
    ck_assert_uint_eq(found.n_printed, 1);
    teardown();
    setup(3900); /* another library's future */
    tasks(30, 40, FETCH "Pool.free@/usr/lib/python3.11/site-packages/pool.py:8:9", for_future);
    judge(ALL_MS);
    ck_assert(
        is_said("30 of 40 asyncio tasks waited when the recording ended, in ask a.py:2 > fetch "
                "a.py:5 > Pool.free. main runs"));
    teardown();
    setup(3900); /* some of what others send */
    tasks(30, 40,
          FETCH "StreamReader.readline" ASYNCIO "streams.py:8:9 > "
                "StreamReader._wait_for_data" ASYNCIO "streams.py:8:9",
          for_future);
    judge(ALL_MS);
    ck_assert(is_said("30 of 40 asyncio tasks waited when the recording ended, in ask a.py:2 > "
                      "fetch a.py:5 > StreamReader.readline."));
    teardown();
}
END_TEST

/* One limit, which several functions ask for. */
START_TEST(tasks_that_wait_for_one_object_are_counted_together)
{
    static const struct profile_task_wait of_pool = {.object = 1}, of_other = {.object = 2};
    setup(3900);
    tasks(70, 201, FETCH "Semaphore.acquire" ASYNCIO "locks.py:9:9", of_pool);
    tasks(60, 201, "post@/src/a.py:12:13 > Semaphore.acquire" ASYNCIO "locks.py:9:9", of_pool);
    tasks(50, 201, "get@/src/a.py:14:15 > Semaphore.acquire" ASYNCIO "locks.py:9:9", of_other);
    judge(ALL_MS);
    ck_assert(is_said("130 of 201 asyncio tasks waited for one semaphore when the recording ended, "
                      "70 of them in ask a.py:2 > fetch a.py:5 > Semaphore.acquire. main"));
    teardown();
}
END_TEST

/* Who has the lock is a task that got past it. */
START_TEST(where_others_are_is_told_of_a_fault_too)
{
    static const struct profile_task_wait for_long = {.least_ns = INT64_C(3) * NS_PER_S};
    setup(4000);
    tasks(5, 8, FETCH "Lock.acquire" ASYNCIO "locks.py:9:9", for_long);
    tasks(1, 8, FETCH "ask_partner@/src/a.py:30:31 > sleep" ASYNCIO "tasks.py:9:9", for_future);
    judge(ALL_MS);
    assert_told(0, "tasks_wait",
                "5 asyncio tasks wait for one lock, in fetch a.py:5 > Lock.acquire, for 3.0 s or "
                "more. 1 other got past it, and waited in ask_partner a.py:31 > sleep. main runs");
    teardown();
}
END_TEST

/* So do the functions of servers' own. */
START_TEST(one_task_that_waits_in_a_servers_drain_is_told)
{
    static const struct profile_task_wait wait = {.least_ns = INT64_C(3) * NS_PER_S, .apart = true};
    setup(4000);
    tasks(1, 8,
          "send_all@/src/a.py:1:2 > "
          "BaseProtocol._drain_helper@/usr/lib/python3/dist-packages/aiohttp/base_protocol.py:8:9",
          wait);
    judge(ALL_MS);
    assert_told(0, "tasks_wait", "1 asyncio task waits for a peer to read what was sent");
    teardown();
}
END_TEST

/* Even one task keeps what it has for all others; one that serves a slow client has to wait. */
START_TEST(one_task_that_waits_for_its_reader_is_told)
{
    struct profile_task_wait wait = {.least_ns = INT64_C(3) * NS_PER_S, .apart = true};
    const char *drains = "send_all@/src/a.py:1:2 > StreamWriter.drain" ASYNCIO "streams.py:8:9 > "
                         "FlowControlMixin._drain_helper" ASYNCIO "streams.py:8:9";
    setup(4000);
    tasks(1, 8, drains, wait);
    judge(ALL_MS);
    assert_told(0, "tasks_wait",
                "1 asyncio task waits for a peer to read what was sent, in send_all a.py:2 > "
                "StreamWriter.drain, for 3.0 s or more. main runs");
    ck_assert_uint_eq(found.n_printed, 1);
    teardown();
    for (int client = 0; client < 2; client++) {
        setup(4000);
        wait.of_clients = client;
        wait.least_ns = client ? INT64_C(3) * NS_PER_S : NS_PER_S / 2; /* no longer than others */
        tasks(1, 8, drains, wait);
        judge(ALL_MS);
        assert_not_told("tasks_wait");
        teardown();
    }
}
END_TEST

/* What the loop does when it does not idle is told beside it. */
START_TEST(the_rest_of_the_loops_time_is_told_too)
{
    setup(ALL_MS);
    for (int i = 0; i < 40; i++) {
        builder_run(&b, lead, polls, 70, 0);
        builder_run(&b, lead, "_run_once" ASYNCIO "base_events.py:1:9 > answer@/src/a.py:7:9", 30,
                    30);
    }
    tasks(30, 40, FETCH "Semaphore.acquire" ASYNCIO "locks.py:9:9", one_object);
    judge(2 * ALL_MS);
    ck_assert(is_said("30 of 40 asyncio tasks waited for one semaphore"));
    ck_assert(is_said("It spends 100% of its other time in answer a.py:9."));
    teardown();
}
END_TEST

/* Each waits for an event of its own, which a limit of another library's sets. */
START_TEST(a_limit_of_a_library_is_a_fact)
{
    setup(3900);
    tasks(30, 40,
          FETCH "Limiter.acquire@/usr/lib/python3.11/site-packages/anyio/limiter.py:8:9 > "
                "Event.wait" ASYNCIO "locks.py:9:9",
          apart);
    judge(ALL_MS);
    ck_assert(
        is_said("30 of 40 asyncio tasks waited when the recording ended, in ask a.py:2 > fetch "
                "a.py:5 > Limiter.acquire > Event.wait. main runs"));
    teardown();
}
END_TEST

START_TEST(tasks_without_work_are_no_fact)
{
    static const struct profile_task_wait clients = {.of_clients = true, .for_future = true};
    static const struct {
        const char *stack;
        const struct profile_task_wait *wait;
        size_t of;
        int64_t idle_ms;
    } cases[] = {
        {"work@/src/a.py:1:2 > Queue.get" ASYNCIO "queues.py:9:9", &one_object, 40, 3900},
        {"serve@/src/a.py:1:2 > StreamReader.readline" ASYNCIO "streams.py:9:9", &clients, 40,
         3900},
        {FETCH "Semaphore.acquire" ASYNCIO "locks.py:9:9", &apart, 40, 3900},
        {FETCH "Semaphore.acquire" ASYNCIO "locks.py:9:9", &one_object, 100, 3900}, /* a few */
        {FETCH "Semaphore.acquire" ASYNCIO "locks.py:9:9", &one_object, 40, 1500},  /* busy */
        {"serve@/src/a.py:1:2", &for_future, 40, 3900},
        {FETCH "sleep" ASYNCIO "tasks.py:9:9", &for_future, 40, 3900},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup(cases[i].idle_ms);
        tasks(30, cases[i].of, cases[i].stack, *cases[i].wait);
        judge(ALL_MS);
        assert_not_told("tasks_wait");
        teardown();
    }
}
END_TEST

#define PACKAGES "@/venv/lib/python3.11/site-packages/"

/* Idle clients of a server's are none of its tasks' waits; what its handlers ask for is. */
START_TEST(a_server_that_waits_for_its_clients_is_no_fact)
{
    static const struct {
        const char *stack;
        bool fact;
    } cases[] = {
        {"RequestHandler.start" PACKAGES "aiohttp/web_protocol.py:1:2 > chat@/src/a.py:1:2 > "
         "WebSocketResponse.receive" PACKAGES "aiohttp/web_ws.py:1:2 > "
         "DataQueue.read" PACKAGES "aiohttp/streams.py:1:2",
         false},
        {"Protocol.run_asgi" PACKAGES "uvicorn/protocols/websockets/impl.py:1:2 > "
         "App.__call__" PACKAGES "starlette/applications.py:1:2 > chat@/src/a.py:1:2 > "
         "WebSocket.receive" PACKAGES "starlette/websockets.py:1:2 > "
         "Common.recv" PACKAGES "websockets/legacy/protocol.py:1:2",
         false},
        {"conn_handler" PACKAGES "websockets/asyncio/server.py:1:2 > chat@/src/a.py:1:2 > "
         "Connection.recv" PACKAGES "websockets/asyncio/connection.py:1:2 > "
         "Assembler.get" PACKAGES "websockets/asyncio/messages.py:1:2",
         false},
        {"RequestHandler.start" PACKAGES "aiohttp/web_protocol.py:1:2 > proxy@/src/a.py:1:2 > "
         "Session._request" PACKAGES "aiohttp/client.py:1:2 > "
         "DataQueue.read" PACKAGES "aiohttp/streams.py:1:2",
         true},
        {"RequestHandler.start" PACKAGES "aiohttp/web_protocol.py:1:2 > order@/src/a.py:1:2 > "
         "Pool.acquire" PACKAGES "dbpool/pool.py:1:2",
         true},
        {FETCH "Session._request" PACKAGES "aiohttp/client.py:1:2 > "
               "DataQueue.read" PACKAGES "aiohttp/streams.py:1:2",
         true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup(3900);
        tasks(30, 40, cases[i].stack, for_future);
        judge(ALL_MS);
        ck_assert_msg(is_said("30 of 40 asyncio tasks waited") == cases[i].fact, "%zu", i);
        teardown();
    }
}
END_TEST

/* ---- a free thread ---- */

#define WORKER "_worker@/usr/lib/python3.11/concurrent/futures/thread.py:1:2 > "

static const char *first_executor = "asyncio"; /* whose the first thread is */

/* Threads of the executor of PID, which work for BUSY_MS of all time. */
static void start_executor_of(int pid, const char *work, int64_t busy_ms)
{
    for (int i = 0; i < THREADS; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "%s_%d", i ? "asyncio" : first_executor, i);
        thread_id t = builder_thread(&b, pid + 1 + i, name);
        builder_run(&b, t, work, busy_ms, busy_ms);
        if (busy_ms < ALL_MS)
            builder_run(&b, t, WORKER "pthread_cond_wait!libc.so.6 > futex [blocked]",
                        ALL_MS - busy_ms, 0);
    }
}

static void start_executor(const char *work, int64_t busy_ms)
{
    start_executor_of(PID, work, busy_ms);
}

static void await_threads(size_t n)
{
    tasks(n, n + 2, "export@/src/a.py:1:2", for_thread);
    tasks(1, n + 2,
          "main@/src/a.py:20:21 > look_up@/src/a.py:30:31 > "
          "BaseEventLoop.getaddrinfo" ASYNCIO "base_events.py:9:9",
          for_thread);
}

START_TEST(tasks_that_wait_for_a_free_thread)
{
    setup(4000);
    start_executor(WORKER "table@/src/a.py:40:41 > clock_nanosleep [blocked]", ALL_MS);
    await_threads(40);
    judge(ALL_MS);
    assert_told(
        0, "no_free_thread",
        "41 asyncio tasks waited for an executor thread's result when the recording ended: 40 "
        "in export a.py:2, 1 in look_up a.py:31 > BaseEventLoop.getaddrinfo. There are 3 "
        "executor threads: 38 tasks waited for a free one. asyncio_0, asyncio_1 "
        "and asyncio_2 are 100% in table a.py:41 > clock_nanosleep. main runs their event loop "
        "and is idle 100% of its time.");
    assert_not_told("event_loop");
    teardown();
}
END_TEST

/* Those of an executor that was shut down before are no more. */
START_TEST(threads_of_an_earlier_executor_are_not_counted)
{
    setup(4000);
    for (int i = 0; i < THREADS; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "asyncio_%d", i);
        thread_id t = builder_thread(&b, PID + 50 + i, name);
        builder_run(&b, t, WORKER "table@/src/a.py:40:41 > clock_nanosleep [blocked]", 1000, 0);
        profile_end_thread(b.p, t, (int64_t)1000 * NS_PER_MS);
        profile_get_thread(b.p, t)->ended = true;
    }
    start_executor(WORKER "table@/src/a.py:40:41 > clock_nanosleep [blocked]", ALL_MS);
    await_threads(4);
    judge(ALL_MS);
    ck_assert(is_said("There are 3 executor threads: 2 tasks waited for a free one."));
    teardown();
}
END_TEST

/* Each has its own loop, executor and tasks. */
START_TEST(alike_processes_are_judged_one_by_one)
{
    b = builder_start(PID, "python3");
    for (int i = 0; i < 3; i++) {
        if (i)
            builder_process(&b, PID + 10 * i, "python3", "");
        add_loop(PID + 10 * i, 4000);
        start_executor_of(PID + 10 * i, WORKER "table@/src/a.py:40:41 > clock_nanosleep [blocked]",
                          ALL_MS);
        if (i != 1)
            await_threads(40);
        else
            tasks(30, 40, FETCH "Semaphore.acquire" ASYNCIO "locks.py:9:9", one_object);
    }
    judge(ALL_MS);
    assert_told(0, "no_free_thread",
                "There are 3 executor threads: 38 tasks waited for a free one. They are 100% "
                "in table a.py:41 > clock_nanosleep. 10 (python3) runs their event loop "
                "and is idle 100% of its time. wallspy dump -p 10 shows what all tasks wait for. "
                "A larger executor (max_workers=), or one of its own for what takes long, lets the "
                "others go on. 30 (python3) lacks a free thread, too.");
    assert_told(1, "tasks_wait", "30 of 40 asyncio tasks waited for one semaphore");
    assert_told(1, "tasks_wait", "20 (python3) runs their event loop");
    teardown();
}
END_TEST

/* Which one's threads are lacking is unknown. */
START_TEST(threads_of_two_executors_are_not_added_up)
{
    setup(4000);
    first_executor = "reports";
    start_executor(WORKER "table@/src/a.py:40:41 > clock_nanosleep [blocked]", ALL_MS);
    first_executor = "asyncio";
    await_threads(40);
    judge(ALL_MS);
    assert_told(0, "no_free_thread", "There are 3 executor threads: none was free. ");
    teardown();
}
END_TEST

/* A coroutine's result of another loop's is awaited in the same way. */
START_TEST(with_another_event_loop_no_thread_need_be_lacking)
{
    setup(4000);
    start_executor(WORKER "table@/src/a.py:40:41", ALL_MS);
    builder_run(&b, builder_thread(&b, 50, "loop"), polls, ALL_MS, 0);
    await_threads(40);
    judge(ALL_MS);
    assert_not_told("no_free_thread");
    teardown();
}
END_TEST

START_TEST(an_executor_with_a_free_thread_is_no_fault)
{
    setup(4000);
    start_executor(WORKER "table@/src/a.py:40:41", ALL_MS);
    await_threads(2); /* as many as there are threads */
    judge(ALL_MS);
    assert_not_told("no_free_thread");
    teardown();
    setup(4000);
    start_executor(WORKER "table@/src/a.py:40:41", ALL_MS / 2);
    await_threads(40); /* just now */
    judge(ALL_MS);
    assert_not_told("no_free_thread");
    teardown();
    setup(4000); /* for what processes do */
    start_executor(WORKER "table@/src/a.py:40:41", ALL_MS);
    builder_run(&b, builder_thread(&b, 50, "manager"),
                "_ExecutorManagerThread.run@/usr/lib/python3.11/concurrent/futures/process.py:1:2 "
                "> poll [blocked]",
                ALL_MS, 0);
    await_threads(40);
    judge(ALL_MS);
    assert_not_told("no_free_thread");
    teardown();
}
END_TEST

CHECK_MAIN("findings_tasks", 20, threads_of_an_earlier_executor_are_not_counted,
           where_most_tasks_wait_is_told_as_a_fact, a_limit_of_a_library_is_a_fact,
           where_others_are_is_told_of_a_fault_too, one_task_that_waits_for_its_reader_is_told,
           one_task_that_waits_in_a_servers_drain_is_told,
           tasks_that_wait_for_one_object_are_counted_together,
           a_server_that_waits_for_its_clients_is_no_fact, the_rest_of_the_loops_time_is_told_too,
           tasks_without_work_are_no_fact, alike_processes_are_judged_one_by_one,
           tasks_that_wait_for_a_free_thread, threads_of_two_executors_are_not_added_up,
           with_another_event_loop_no_thread_need_be_lacking,
           an_executor_with_a_free_thread_is_no_fault)
