/* Findings of processes all of whose threads wait for one another, and of asyncio's tasks that wait
 * for one thing. */
#include <string.h>

#include "base/clock.h"
#include "summary/findings.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

enum { PID = 10, CHILD = 20, DELIVER = 11, STORE = 12, GONE = 2104 };

static thread_id lead, deliver;
static const char takes[] = "deliver!post > take!post > pthread_cond_wait!libc.so.6";
static const char joins[] = "serve!post > pthread_join!libc.so.6";
static const char locks[] = "serve!post > write_log!post > pthread_mutex_lock!libc.so.6";
static const struct wait_side condition = {.inside = true};
static const struct wait_side joined = {
    .thing = THING_THREAD,
    .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = DELIVER},
    .inside = true};

static void setup(uint64_t threads)
{
    b = builder_start(PID, "post");
    lead = builder_thread(&b, PID, NULL);
    deliver = builder_thread(&b, DELIVER, "deliver");
    profile_get_process(b.p, b.process)->threads = threads;
}

START_TEST(threads_that_all_wait_for_one_another_are_told_the_culprit_first)
{
    setup(2);
    builder_held(&b, lead, joins, &joined, 4000);
    builder_held(&b, deliver, takes, &condition, 4000);
    judge(4000);
    assert_told(0, "stuck",
                "Both threads wait for one another, without a time-out, for 4.0 s: only a signal "
                "can wake them. deliver waits for a condition in take, called from deliver. main "
                "waits for deliver to end in serve");
    ck_assert_uint_eq(found.n_printed, 1);
    teardown();
}
END_TEST

/* Until a time-out, after which somebody runs for a moment.  Of three threads one is not known, and
 * may do what the others wait for.  Who waits for no task's result may wait for the time alone. */
START_TEST(threads_that_wait_for_one_another_until_a_time_out_are_told)
{
    static const struct wait_side patient = {.inside = true, .timed = true};
    static const struct {
        uint64_t threads;
        const char *stack;
        bool told;
    } cases[] = {
        {2, "serve!post > ask!post > std::__basic_future::wait_for!post", true},
        {3, "serve!post > ask!post > std::__basic_future::wait_for!post", false},
        {2, "serve!post > ask!post > pthread_cond_timedwait!libc.so.6", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup(cases[i].threads);
        builder_held(&b, lead, "serve!post > pthread_cond_wait!libc.so.6", &condition, 4000);
        builder_held(&b, deliver, cases[i].stack, &patient, 3900);
        builder_run(&b, deliver, "serve!post > ask!post", 100, 100);
        judge(4000);
        ck_assert_int_eq(is_said("Both threads wait for one another, for at least 98% of the time, "
                                 "until a time-out"),
                         cases[i].told);
        teardown();
    }
}
END_TEST

/* A pool of one thread, whose task waits for the result of another one. */
START_TEST(a_pool_that_waits_for_itself_is_told_the_way_out)
{
    setup(2);
    builder_held(&b, lead, "serve@/src/a.py:1:2", &condition, 4000);
    builder_held(&b, deliver,
                 "_worker@/usr/lib/python3.11/concurrent/futures/thread.py:1:2 > "
                 "pack@/src/a.py:5:6 > "
                 "Future.result@/usr/lib/python3.11/concurrent/futures/_base.py:1:2",
                 &condition, 4000);
    judge(4000);
    assert_told(
        0, "stuck",
        "If these are results of tasks of its own pool, no thread is left to run them: wait "
        "outside of the pool, or give these tasks another pool.");
    teardown();
}
END_TEST

/* An event loop is a pool of one thread.  A wait for anything else may be for another thread. */
START_TEST(an_event_loop_that_waits_for_itself_is_told_the_way_out)
{
#define LOOP "BaseEventLoop.run_forever@/usr/lib/python3.11/asyncio/base_events.py:1:2 > "
    static const char *const waits[] = {
        LOOP "look_up@/src/a.py:5:6",
        LOOP "look_up@/src/a.py:5:6 > "
             "Future.result@/usr/lib/python3.11/concurrent/futures/_base.py:1:2",
    };
    for (int result = 0; result <= 1; result++) {
        setup(2);
        builder_held(&b, lead, waits[result], &condition, 4000);
        builder_held(&b, deliver, takes, &condition, 4000);
        judge(4000);
        assert_told(0, "stuck", "main waits in");
        ck_assert_int_eq(
            is_said("It waits in its event loop, which runs no coroutine meanwhile: if "
                    "that is for one of these, await it, or wait in another thread."),
            result);
        teardown();
    }
}
END_TEST

/* It waited for longer in line 7, but got what it waited for there. */
START_TEST(the_line_of_a_wait_is_where_it_waits_at_the_end)
{
    setup(2);
    builder_held(&b, lead, "serve!post|/src/post.cc:7 > pthread_join!libc.so.6", &joined, 4000);
    builder_held(&b, lead, "serve!post|/src/post.cc:9 > pthread_join!libc.so.6", &joined, 2000);
    builder_held(&b, deliver, takes, &condition, 6000);
    judge(6000);
    assert_told(0, "stuck", "main waits for deliver to end in serve post.cc:9.");
    teardown();
}
END_TEST

static void assert_silent(uint64_t threads, const struct wait_side *side, int64_t still_since_ms)
{
    setup(threads);
    builder_held(&b, lead, joins, &joined, 4000);
    builder_held(&b, deliver, takes, side, 4000);
    profile_get_thread(b.p, deliver)->still_since_ns = still_since_ms * NS_PER_MS;
    judge(4000);
    assert_not_told("stuck");
    teardown();
}

/* A child that waits for a thread which only its parent has, or (OTHER) for one that it ended. */
static void forked_child(bool other)
{
    setup(2);
    builder_run(&b, lead, "serve!post > wait4 [blocked]", 4000, 0);
    builder_held(&b, deliver, takes, &condition, 4000);
    process_id parent = b.process;
    builder_process(&b, CHILD, other ? "cc" : "post", NULL);
    thread_id t = builder_thread(&b, CHILD, NULL);
    profile_get_process(b.p, b.process)->threads = 1;
    profile_get_process(b.p, b.process)->parent = parent;
    profile_get_process(b.p, b.process)->python_version = profile_string(b.p, "3.13.0");
    builder_held(&b, t, takes, &condition, 4000);
    judge(4000);
}

START_TEST(a_child_of_fork_has_no_thread_of_its_parents)
{
    static const char words[] =
        "20 was forked by 10, which had 2 threads: fork copied one of them. multiprocessing's "
        "start methods spawn and forkserver avoid this.";
    forked_child(false);
    assert_told(0, "stuck", words);
    teardown();
    forked_child(true); /* it is another program by now */
    assert_told(0, "stuck", "The process has one thread, and that waits to be woken by another");
    ck_assert(!strstr(found.printed[0]->words, "fork"));
    teardown();
}
END_TEST

START_TEST(any_other_way_out_keeps_it_silent)
{
    const struct wait_side timed = {.timed = true};
    assert_silent(2, &timed, 0);
    assert_silent(2, &condition, 3600); /* it ran a moment ago */
    assert_silent(3, &condition, 0);    /* one thread was not recorded */
    assert_silent(0, &condition, 0);    /* how many there are is not known */
}
END_TEST

START_TEST(a_thread_that_runs_or_has_ended)
{
    for (int ended = 0; ended < 2; ended++) {
        setup(2);
        thread_id store = builder_thread(&b, STORE, "store");
        builder_held(&b, lead, joins, &joined, 4000);
        builder_held(&b, deliver, takes, &condition, 4000);
        builder_run(&b, store, "store!post", 2000, 2000);
        profile_get_thread(b.p, store)->ended = ended;
        profile_get_process(b.p, b.process)->threads = ended ? 2 : 3;
        judge(4000);
        if (ended)
            assert_told(0, "stuck", "Both threads wait for one another");
        else
            assert_not_told("stuck");
        teardown();
    }
}
END_TEST

START_TEST(a_thread_that_is_alone)
{
    b = builder_start(PID, "post");
    lead = builder_thread(&b, PID, NULL);
    profile_get_process(b.p, b.process)->threads = 1;
    builder_held(&b, lead, takes, &condition, 4000);
    judge(4000);
    assert_told(
        0, "stuck",
        "The process has one thread, and that waits to be woken by another, for 4.0 s: only a "
        "signal can wake it. main waits for a condition in take");
    teardown();
}
END_TEST

START_TEST(a_lock_that_nobody_is_left_to_give_up)
{
    struct wait_side unknown = {.thing = THING_UNKNOWN, .inside = true};
    b = builder_start(PID, "post");
    lead = builder_thread(&b, PID, NULL);
    profile_get_process(b.p, b.process)->threads = 1;
    builder_held(&b, lead, locks, &unknown, 4000);
    judge(4000);
    assert_told(
        0, "stuck",
        "The only thread can never get its lock: it holds it already, its owner ended, or it was "
        "copied by fork while held. It has waited for 4.0 s: only a signal can wake it.");
    teardown();
}
END_TEST

START_TEST(deadlocks_and_lost_owners_say_more)
{
    struct wait_side other = {.thing = THING_MUTEX,
                              .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = DELIVER},
                              .addr = 4096,
                              .inside = true};
    setup(2);
    builder_held(&b, lead, locks, &other, 4000);
    other.blocker.tid = PID;
    builder_held(&b, deliver, locks, &other, 4000);
    judge(4000);
    assert_told(0, "deadlock", "");
    assert_not_told("stuck");
    teardown();
    struct wait_side gone = {
        .thing = THING_MUTEX, .blocker = {.kind = BLOCKER_GONE, .tid = GONE}, .inside = true};
    setup(2);
    builder_held(&b, lead, joins, &joined, 4000);
    builder_held(&b, deliver, locks, &gone, 4000);
    judge(4000);
    assert_not_told("stuck");
    assert_told(
        0, "waits_for",
        "main waits 100% of its time in serve, for deliver to end, which waits for a mutex "
        "held by 2104, which is not a thread of this process: it has ended, or the lock was "
        "inherited by fork.");
    teardown();
}
END_TEST

/* N tasks of asyncio's wait in FUNCTION of asyncio's while main idles IDLE_MS of 4 s. */
static void tasks_wait(const char *function, bool of_clients, size_t n, int64_t idle_ms)
{
    static const char polls[] = "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:9 > "
                                "EpollSelector.select@/usr/lib/python3.11/selectors.py:4:9 > "
                                "epoll_wait [blocked]";
    char stack[200];
    (void)snprintf(stack, sizeof stack, "handle@/src/ingest.py:40:42 > %s:9:9", function);
    b = builder_start(PID, "python3");
    lead = builder_thread(&b, PID, NULL);
    builder_run(&b, lead, polls, idle_ms, 0);
    builder_run(&b, lead, "answer@/src/ingest.py:7:9", 4000 - idle_ms, 4000 - idle_ms);
    profile_add_task_wait(b.p, &(struct profile_task_wait){.process = b.process,
                                                           .stack = builder_stack(&b, stack),
                                                           .n = n,
                                                           .least_ns = INT64_C(3) * NS_PER_S,
                                                           .of_clients = of_clients});
    judge(4000);
}

static const char put[] = "Queue.put@/usr/lib/python3.11/asyncio/queues.py";
static const char get[] = "Queue.get@/usr/lib/python3.11/asyncio/queues.py";

START_TEST(tasks_that_wait_for_one_thing)
{
    tasks_wait(put, true, 6, 4000);
    assert_told(0, "tasks_wait",
                "6 asyncio tasks wait for one full queue, in handle ingest.py:42 > Queue.put, for "
                "3.0 s or more. main runs their event loop and is idle 100% of its time. wallspy "
                "dump -p 10 shows what all tasks wait for.");
    ck_assert_uint_eq(found.n_printed, 1);
    teardown();
    tasks_wait(put, true, 6, 1500); /* the loop is busy */
    assert_not_told("tasks_wait");
    teardown();
}
END_TEST

START_TEST(tasks_that_wait_for_work)
{
    static const char *const others[] = {get, "Event.wait@/usr/lib/python3.11/asyncio/locks.py",
                                         "Semaphore.acquire@/usr/lib/python3.11/asyncio/locks.py",
                                         "Queue.put@/src/queues.py"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        tasks_wait(others[i], false, 4, 4000);
        assert_not_told("tasks_wait");
        teardown();
    }
    tasks_wait(get, true, 4, 4000); /* those who serve clients do not */
    assert_told(0, "tasks_wait", "4 asyncio tasks wait for one empty queue");
    teardown();
}
END_TEST

/* Nobody waits for it: what main does is told, too. */
START_TEST(a_process_that_is_stuck_does_not_hide_one_that_works)
{
    setup(2);
    builder_run(&b, lead, "serve!post > sort!post", 4000, 4000);
    builder_run(&b, deliver, "deliver!post > fetch!post > recvfrom socket [blocked]", 4000, 0);
    builder_process(&b, CHILD, "helper", NULL);
    profile_get_process(b.p, b.process)->threads = 1;
    thread_id helper = builder_thread(&b, CHILD, NULL);
    builder_held(&b, helper, locks, &condition, 4000);
    judge(4000);
    assert_told(0, "stuck", "20 (helper) waits for a lock in write_log");
    assert_told(1, "computes", "100% in serve > sort");
    teardown();
}
END_TEST

static struct wait_side held_by(pid_t tid)
{
    return (struct wait_side){
        .thing = THING_MUTEX,
        .addr = (uint64_t)tid * 64,
        .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = tid},
    };
}

/* What the leader waits for there is no more than that, and its way out helps nobody. */
START_TEST(a_deadlock_comes_before_what_the_leader_waits_for_there)
{
    const struct wait_side delivers = held_by(DELIVER);
    const struct wait_side stores = held_by(STORE);
    setup(4);
    thread_id store = builder_thread(&b, STORE, "store");
    thread_id works = builder_thread(&b, GONE, "works");
    builder_held(&b, lead, locks, &delivers, 4000);
    builder_held(&b, deliver, locks, &stores, 4000);
    builder_held(&b, store, locks, &delivers, 4000);
    builder_run(&b, works, "work!post > clock_nanosleep [blocked]", 4000, 0);
    judge(4000);
    assert_told(0, "deadlock", "Behind it: main");
    teardown();
}
END_TEST

CHECK_MAIN("findings_stuck", 20, a_deadlock_comes_before_what_the_leader_waits_for_there,
           a_pool_that_waits_for_itself_is_told_the_way_out,
           an_event_loop_that_waits_for_itself_is_told_the_way_out,
           a_process_that_is_stuck_does_not_hide_one_that_works, tasks_that_wait_for_one_thing,
           tasks_that_wait_for_work,
           threads_that_all_wait_for_one_another_are_told_the_culprit_first,
           threads_that_wait_for_one_another_until_a_time_out_are_told,
           the_line_of_a_wait_is_where_it_waits_at_the_end,
           a_child_of_fork_has_no_thread_of_its_parents, any_other_way_out_keeps_it_silent,
           a_thread_that_runs_or_has_ended, a_thread_that_is_alone,
           a_lock_that_nobody_is_left_to_give_up, deadlocks_and_lost_owners_say_more)
