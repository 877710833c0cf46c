/* What a dump says of threads: every state in words, without a target. */
#include <string.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/dump_forms.h"
#include "cli/dump_label.h"
#include "cli/dump_tasks.h"
#include "dump/places.h"
#include "dump/thread.h"
#include "summary/wait_side.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

enum { PID = 10, WORKER = 11, LOOK_MS = 500 };

static struct profile_builder b;
static struct dump d;
static char *text;

static void setup(void)
{
    b = builder_start(PID, "app");
    d = (struct dump){.profile = b.p, .look_ns = LOOK_MS * NS_PER_MS, .style.width = 79};
    text = NULL;
}

static void teardown(void)
{
    for (size_t i = 0; i < d.n; i++)
        dump_thread_release(&d.threads[i]);
    dump_places_free(d.places);
    view_free(d.view);
    wait_graph_release(&d.waits);
    free(d.deadlocks);
    free(d.threads);
    free(text);
    profile_free(b.p);
}

/* THREAD, as its last run has it, CPU_MS of the look on a CPU. */
static struct dump_thread *add(thread_id thread, enum thread_state state, int64_t cpu_ms)
{
    const struct profile_thread *t = profile_see_thread(b.p, thread);
    d.threads = array_reserve(d.threads, &d.capacity, d.n + 1, sizeof *d.threads);
    struct dump_thread *made = &d.threads[d.n++];
    *made = (struct dump_thread){.thread = thread,
                                 .pid = PID,
                                 .tid = t->tid,
                                 .sampled = true,
                                 .shot = true,
                                 .state = state,
                                 .syscall = state == THREAD_BLOCKED ? -1 : -2,
                                 .complete = true,
                                 .at = t->runs[t->n_runs - 1].at,
                                 .gil = {.gil = PY_GIL_ABSENT},
                                 .counted = true,
                                 .ran = cpu_ms > 0,
                                 .cpu_ns = cpu_ms * NS_PER_MS};
    made->side = wait_side_of(b.p, d.view, made->at);
    return made;
}

/* The view must not be there before the last stack is. */
static void look(void)
{
    struct view_options options = {0};
    d.places = dump_places_new(b.p, &options);
    options.whole = true;
    d.view = view_new(b.p, &options);
}

static const char *shown(void)
{
    size_t len;
    FILE *out = open_memstream(&text, &len);
    d.all_ran = true;
    for (size_t i = 0; i < d.n; i++) {
        d.any_ran |= d.threads[i].ran;
        d.all_ran &= d.threads[i].ran;
    }
    dump_label_threads(&d);
    ck_assert_int_eq(dump_text(&d, out), 0);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

static void assert_has(const char *expected)
{
    ck_assert_msg(strstr(text, expected) != NULL, "not there: %s\n%s", expected, text);
}

/* A thread in STACK and STATE, which ran for CPU_MS: the line is EXPECTED behind its name. */
static void assert_state(const char *stack, enum thread_state state, int64_t cpu_ms,
                         const char *expected)
{
    char line[240];
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    builder_run(&b, main, stack, LOOK_MS, state == THREAD_BLOCKED ? 0 : LOOK_MS);
    look();
    add(main, state, cpu_ms);
    (void)snprintf(line, sizeof line, "\n10 main           %s\n", expected);
    shown();
    assert_has(line);
    teardown();
}

START_TEST(a_thread_that_runs_has_its_share_of_the_time)
{
    assert_state("solve!app", THREAD_RUNNING, 480, "runs 96% of the time");
}
END_TEST

START_TEST(a_thread_that_only_asks_again_spins)
{
    assert_state("main!app > cuCtxSynchronize!libcuda.so.1", THREAD_RUNNING, 480,
                 "spins for the GPU 96% of the time");
}
END_TEST

/* In whatever call: that is its driver's affair. */
START_TEST(a_thread_that_waits_for_a_gpu_asleep_says_so)
{
    assert_state("main!app > cuEventSynchronize!libcuda.so.1 > poll!libc.so.6 > poll [blocked]",
                 THREAD_BLOCKED, 60,
                 "waits for the GPU, ran 12% of the time\n"
                 "  It waits for what was queued for the GPU before: nsys, rocprof or\n"
                 "  torch.profiler shows what takes that time.");
}
END_TEST

START_TEST(a_blocked_thread_that_ran_has_its_share)
{
    assert_state("main!app > [page fault]", THREAD_BLOCKED, 60,
                 "in a page fault, ran 12% of the time");
}
END_TEST

START_TEST(a_frozen_thread_is_in_no_call)
{
    assert_state("main!app > [frozen]", THREAD_BLOCKED, 0,
                 "is frozen with the cgroup (docker pause, systemctl freeze):\n"
                 "                  docker unpause, systemctl thaw or echo 0 > cgroup.freeze\n"
                 "                  resumes it");
}
END_TEST

START_TEST(a_stopped_thread_has_the_way_on)
{
    assert_state("main!app > [stopped]", THREAD_STOPPED, 0,
                 "is stopped by a signal (SIGSTOP, or Ctrl-Z's SIGTSTP): kill\n"
                 "                  -CONT 10 resumes it");
}
END_TEST

START_TEST(a_background_job_that_reads_is_told_another_way)
{
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    thread_id worker = builder_thread(&b, WORKER, "worker");
    builder_stopped(&b, main, "ask!app", "/dev/pts/3", LOOK_MS);
    builder_stopped(&b, worker, "run!app", NULL, LOOK_MS);
    look();
    add(main, THREAD_STOPPED, 0);
    add(worker, THREAD_STOPPED, 0);
    shown();
    assert_has("\n10 main           is stopped because its job reads /dev/pts/3 in the background\n"
               "                  (SIGTTIN): `fg` in its shell lets it read; </dev/null at its\n"
               "                  start avoids this\n");
    assert_has("\n11 worker         is stopped because its job reads /dev/pts/3 in the background\n"
               "                  (SIGTTIN)\n");
    teardown();
}
END_TEST

START_TEST(a_thread_without_a_cpu_waits_for_one)
{
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    builder_runnable(&b, main, "main!app", LOOK_MS);
    look();
    add(main, THREAD_RUNNABLE, 100)->queue_ns = 400 * NS_PER_MS;
    shown();
    assert_has("waits for a CPU, ran 20% of the time\n");
    teardown();
}
END_TEST

START_TEST(a_thread_that_moved_has_the_places_of_the_whole_look)
{
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    builder_run(&b, main, "run!app > fetch!app > read [blocked]", 400, 0);
    builder_run(&b, main, "run!app > parse!app", 100, 100);
    look();
    add(main, THREAD_RUNNING, 100);
    shown();
    assert_has("\n10 main           runs 20% of the time\n"
               "  over the look: 80% in run > fetch > read, 20% in run > parse\n"
               "    parse\n");
    teardown();
}
END_TEST

START_TEST(a_wait_has_its_meaning)
{
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    builder_run(
        &b, main,
        "update!postgres > LockAcquireExtended!postgres > epoll_wait!libc.so.6 > epoll_wait "
        "[blocked]",
        LOOK_MS, 0);
    look();
    add(main, THREAD_BLOCKED, 0);
    shown();
    assert_has("  Another session has that lock: pg_blocking_pids(), of this process's PID,\n"
               "  says which.\n"
               "    LockAcquireExtended\n");
    teardown();
    setup();
    main = builder_thread(&b, PID, NULL);
    builder_run(&b, main,
                "note@/src/a.py:1:2 > sqliteDefaultBusyCallback!libsqlite3.so.0 > "
                "clock_nanosleep!libc.so.6 > clock_nanosleep [blocked]",
                LOOK_MS, 0);
    look();
    add(main, THREAD_BLOCKED, 0);
    shown();
    assert_has("  SQLite tries again there: another connection has the database locked.\n");
    teardown();
}
END_TEST

/* What of a time-out is left is told, unless that is soon over, or after hours. */
START_TEST(a_time_out_is_told)
{
    static const struct {
        int64_t left_ms;
        const char *line;
    } cases[] = {{900, "\n10 main           in poll\n"},
                 {28000, "\n10 main           in poll, times out within 28.0 s\n"},
                 {86400000, "\n10 main           in poll\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup();
        thread_id main = builder_thread(&b, PID, NULL);
        builder_run(&b, main, "ask!app > poll [blocked]", LOOK_MS, 0);
        look();
        struct dump_thread *t = add(main, THREAD_BLOCKED, 0);
        t->syscall = SYS_poll;
        t->time_out_ns = cases[i].left_ms * NS_PER_MS;
        shown();
        assert_has(cases[i].line);
        teardown();
    }
}
END_TEST

START_TEST(the_rest_of_a_loop_is_idle)
{
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    builder_run(&b, main, "uv_run!libuv.so.1 > uv__io_poll!libuv.so.1 > epoll_wait [blocked]", 400,
                0);
    builder_run(&b, main, "uv_run!libuv.so.1 > work!app", 100, 100);
    look();
    add(main, THREAD_RUNNING, 100);
    shown();
    assert_has("  over the look: 20% in uv_run > work, 80% idle\n");
    teardown();
}
END_TEST

START_TEST(a_function_that_calls_another_has_its_whole_time)
{
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    builder_run(&b, main, "run@/a.py:1:5 > memcpy!libc.so.6", 300, 300);
    builder_run(&b, main, "run@/a.py:1:7", 200, 200);
    look();
    add(main, THREAD_RUNNING, 500);
    shown();
    assert_has("  over the look: 100% in run a.py:5 (60% memcpy)\n");
    teardown();
}
END_TEST

/* Its lines are no other places. */
START_TEST(a_thread_that_stayed_in_one_function_has_none)
{
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    builder_run(&b, main, "run@/a.py:1:5", 300, 300);
    builder_run(&b, main, "run@/a.py:1:7", 200, 200);
    look();
    add(main, THREAD_RUNNING, 500);
    shown();
    ck_assert_ptr_null(strstr(text, "over the look"));
    teardown();
}
END_TEST

START_TEST(a_thread_that_did_not_stop_is_said_to_be_of_an_earlier_look)
{
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    builder_run(&b, main, "main!app", LOOK_MS, LOOK_MS);
    look();
    add(main, THREAD_RUNNING, 0)->shot = false;
    shown();
    assert_has("10 main           runs, and did not stop for the last look\n");
    teardown();
}
END_TEST

/* Two threads that have each other's lock, and none of them ran for half a second. */
static void hold_each_other(void)
{
    const struct wait_side first = {.thing = THING_PY_LOCK,
                                    .addr = 0x7f0000001000,
                                    .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = WORKER},
                                    .inside = true};
    struct wait_side second = first;
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    thread_id worker = builder_thread(&b, WORKER, "worker");
    second.addr = 0x7f0000002000;
    second.blocker.tid = PID;
    builder_held(&b, main, "f@/a.py:1:3", &first, LOOK_MS);
    builder_held(&b, worker, "g@/a.py:7:9", &second, LOOK_MS);
    look();
    add(main, THREAD_BLOCKED, 0);
    add(worker, THREAD_BLOCKED, 0);
}

START_TEST(who_holds_a_lock_is_named_in_the_line)
{
    hold_each_other();
    shown();
    assert_has("2 threads, none of them ran in the 0.5 s of this look\n");
    assert_has("10 main           waits for a lock (0x7f00…000), held by 11 worker\n");
    teardown();
}
END_TEST

/* Links the waits; DEADLOCK: nobody in the circle will go on. */
static void link_waits(bool deadlock)
{
    for (size_t i = 0; i < d.n; i++)
        wait_graph_add(&d.waits, PID, d.threads[i].tid, &d.threads[i].side, (uint32_t)i);
    wait_graph_link(&d.waits);
    d.deadlocks = xcalloc((size_t)d.waits.n_cycles + 1, sizeof *d.deadlocks);
    d.deadlocks[d.waits.n_cycles] = deadlock;
}

START_TEST(a_deadlock_comes_first)
{
    hold_each_other();
    link_waits(true);
    shown();
    assert_has("look\n"
               "  deadlock: 10 main waits for a lock (0x7f00…000), held by 11 worker\n"
               "            11 worker waits for a lock (0x7f00…000), held by 10 main\n");
    teardown();
}
END_TEST

START_TEST(a_circle_that_may_end_is_no_deadlock)
{
    hold_each_other();
    link_waits(false);
    shown();
    assert_has("  circular wait: 10 main waits for a lock (0x7f00…000), held by 11 worker\n"
               "                 11 worker waits for a lock (0x7f00…000), held by 10 main\n");
    teardown();
}
END_TEST

START_TEST(who_waits_behind_a_circle_is_named_below_it)
{
    const struct wait_side joins = {.thing = THING_THREAD,
                                    .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = WORKER}};
    setup();
    const struct wait_side own = {.thing = THING_PY_LOCK,
                                  .addr = 0x7f0000001000,
                                  .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = WORKER}};
    thread_id main = builder_thread(&b, PID, NULL);
    thread_id worker = builder_thread(&b, WORKER, "worker");
    builder_held(&b, main, "f@/a.py:1:3 > pthread_join!libc.so.6", &joins, LOOK_MS);
    builder_held(&b, worker, "g@/a.py:7:9", &own, LOOK_MS);
    look();
    add(main, THREAD_BLOCKED, 0);
    add(worker, THREAD_BLOCKED, 0);
    link_waits(true);
    shown();
    assert_has("  deadlock: 11 worker waits for a lock (0x7f00…000), held by itself\n"
               "  behind it: 10 main waits for thread 11 worker to end\n");
    teardown();
}
END_TEST

START_TEST(an_owner_that_is_gone_is_told)
{
    const struct wait_side side = {.thing = THING_MUTEX,
                                   .addr = 0x7f0000001000,
                                   .blocker = {.kind = BLOCKER_GONE, .pid = PID, .tid = 99}};
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    builder_held(&b, main, "f!app > pthread_mutex_lock!libc.so.6", &side, LOOK_MS);
    look();
    add(main, THREAD_BLOCKED, 0);
    shown();
    assert_has("  owner gone: 10 main waits for a mutex (0x7f00…000), held by 99, which is not\n"
               "            a thread of this process: it has ended, or the lock was inherited\n"
               "            by fork\n");
    teardown();
}
END_TEST

START_TEST(who_has_the_gil_and_who_waits_for_it)
{
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    thread_id worker = builder_thread(&b, WORKER, "worker");
    builder_run(&b, main, "f@/a.py:1:3", LOOK_MS, LOOK_MS);
    builder_run(&b, worker, "g@/a.py:7:9 > [waiting for GIL]", LOOK_MS, 0);
    look();
    struct dump_thread *t = add(main, THREAD_RUNNING, 490);
    t->gil.gil = PY_GIL_HOLDING;
    t->python_threads[0] = 0x5000;
    t = add(worker, THREAD_BLOCKED, 0);
    t->gil = (struct py_gil_state){.gil = PY_GIL_WAITING, .holder = 0x5000};
    t->side = (struct wait_side){.thing = THING_GIL,
                                 .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = PID}};
    shown();
    assert_has("10 main           runs, holds the GIL, on a CPU 98% of the time\n");
    assert_has("11 worker         waits for the GIL, held by 10 main, for 0.5 s or more\n");
    teardown();
}
END_TEST

START_TEST(a_call_has_its_object)
{
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    builder_run(&b, main, "load!app > read /data/x [blocked]", LOOK_MS, 0);
    look();
    struct dump_thread *t = add(main, THREAD_BLOCKED, 0);
    t->syscall = SYS_read;
    t->object = xstrdup("/data/x");
    shown();
    assert_has("10 main           in read of /data/x\n");
    teardown();
}
END_TEST

START_TEST(threads_that_end_or_cannot_be_captured_are_there)
{
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    thread_id worker = builder_thread(&b, WORKER, "worker");
    builder_run(&b, main, "main!app", LOOK_MS, LOOK_MS);
    builder_run(&b, worker, "run!app", LOOK_MS, LOOK_MS);
    look();
    add(main, THREAD_RUNNING, 100)->sampled = false;
    struct dump_thread *t = add(worker, THREAD_RUNNING, 100);
    t->ended = true;
    shown();
    assert_has("10 main           runs, not captured in time");
    assert_has("11 worker         runs, ended since");
    teardown();
}
END_TEST

/* Of a server with TLS each client that sends nothing is such a task. */
START_TEST(a_task_of_asyncios_own_has_its_functions)
{
    static const char accept[] = "BaseSelectorEventLoop._accept_connection2"
                                 "@/usr/lib/python3.11/asyncio/selector_events.py:1:2";
    setup();
    thread_id main = builder_thread(&b, PID, NULL);
    builder_run(&b, main, accept, LOOK_MS, LOOK_MS);
    look();
    const struct listed_task task = {.stack = add(main, THREAD_RUNNING, 100)->at.stack,
                                     .does = PY_TASK_WAITS,
                                     .awaits = PY_AWAITS_FUTURE};
    struct text words = {0};
    dump_task_add(&d, &task, true, &words);
    ck_assert_str_eq(words.s, "_accept_connection2");
    text_release(&words);
    teardown();
}
END_TEST

/* It does not stop, and its registers are copies. */
START_TEST(an_io_uring_worker_is_in_no_call)
{
    setup();
    thread_id worker = builder_thread(&b, WORKER, "iou-wrk-10");
    const struct spot at = {.wait = profile_wait(b.p, &(struct wait){.kind = WAIT_IO_WORKER})};
    profile_add_run(
        b.p, worker,
        &(struct run){
            .at = at, .state = RUN_BLOCKED, .samples = 1, .weights.wall_ns = LOOK_MS * NS_PER_MS});
    look();
    struct dump_thread *t = add(worker, THREAD_BLOCKED, 0);
    t->sampled = t->complete = false;
    t->syscall = -2;
    shown();
    assert_has("11 iou-wrk-10     is an io_uring worker, which has no stack\n");
    teardown();
}
END_TEST

START_TEST(several_that_ended_have_ended)
{
    setup();
    thread_id first = builder_thread(&b, WORKER, "job-0");
    thread_id second = builder_thread(&b, WORKER + 1, "job-1");
    builder_run(&b, first, "run!app", LOOK_MS, LOOK_MS);
    builder_run(&b, second, "run!app", LOOK_MS, LOOK_MS);
    look();
    for (int i = 0; i < 2; i++) {
        struct dump_thread *t = add(i ? second : first, THREAD_RUNNING, 100);
        t->sampled = false;
        t->ended = true;
    }
    shown();
    assert_has("2 x job-*         have ended");
    teardown();
}
END_TEST

START_TEST(equal_stacks_are_one_entry)
{
    setup();
    thread_id first = builder_thread(&b, WORKER, "worker-0");
    thread_id second = builder_thread(&b, WORKER + 1, "worker-1");
    builder_run(&b, first, "run!app > wait!app", LOOK_MS, LOOK_MS);
    builder_run(&b, second, "run!app > wait!app", LOOK_MS, LOOK_MS);
    look();
    add(first, THREAD_RUNNING, 250);
    add(second, THREAD_RUNNING, 500);
    shown();
    assert_has("2 x worker-*      run 75% of the time\n"
               "  11, 12\n"
               "    wait\n"
               "    run\n");
    teardown();
}
END_TEST

CHECK_MAIN("dump_text", 20, a_thread_that_runs_has_its_share_of_the_time,
           a_thread_that_only_asks_again_spins, a_thread_that_waits_for_a_gpu_asleep_says_so,
           a_blocked_thread_that_ran_has_its_share, a_frozen_thread_is_in_no_call,
           a_background_job_that_reads_is_told_another_way, a_stopped_thread_has_the_way_on,
           a_thread_without_a_cpu_waits_for_one,
           a_thread_that_moved_has_the_places_of_the_whole_look, a_wait_has_its_meaning,
           a_time_out_is_told, the_rest_of_a_loop_is_idle,
           a_function_that_calls_another_has_its_whole_time,
           a_thread_that_stayed_in_one_function_has_none,
           a_thread_that_did_not_stop_is_said_to_be_of_an_earlier_look,
           who_holds_a_lock_is_named_in_the_line, a_deadlock_comes_first,
           a_circle_that_may_end_is_no_deadlock, who_waits_behind_a_circle_is_named_below_it,
           an_owner_that_is_gone_is_told, who_has_the_gil_and_who_waits_for_it,
           a_call_has_its_object, threads_that_end_or_cannot_be_captured_are_there,
           a_task_of_asyncios_own_has_its_functions, an_io_uring_worker_is_in_no_call,
           several_that_ended_have_ended, equal_stacks_are_one_entry)
