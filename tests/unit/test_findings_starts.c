/* Threads that start others. */
#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

#define STARTS "serve@/src/a.py:1:2 > Thread.start@/usr/lib/python3.11/threading.py:1:2 > "

/* The main thread of PID is for STARTS_MS of 4 s in STACK; STARTED threads begin meanwhile. */
static void add_starts(int pid, const char *stack, int64_t starts_ms, int started)
{
    thread_id lead = builder_thread(&b, pid, NULL);
    builder_run(&b, lead, "serve@/src/a.py:1:2", 4000 - starts_ms, 4000 - starts_ms);
    builder_run(&b, lead, stack, starts_ms, 0);
    for (int i = 0; i < started; i++) {
        thread_id t = builder_thread(&b, 10 * pid + i, "handle");
        profile_get_thread(b.p, t)->start_ns = (200 + i) * NS_PER_MS;
        profile_get_thread(b.p, t)->ended = true;
        builder_run(&b, t, "handle@/src/a.py:5:6", 10, 10);
    }
}

static void judge_starts(const char *stack, int64_t starts_ms, int started)
{
    b = builder_start(10, "app");
    add_starts(10, stack, starts_ms, started);
    judge(4000);
}

START_TEST(who_starts_threads_all_the_time_is_told)
{
    static const char *const stacks[] = {
        STARTS "sem_wait!python3 > futex [blocked]",
        "serve!/src/app > __pthread_create_2_1!libc.so.6 > clone3!libc.so.6 > clone [blocked]",
    };
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        judge_starts(stacks[i], 2000, 60);
        assert_told(0, "thread_starts", "main spends 50% of its time starting threads, in ");
        teardown();
    }
}
END_TEST

START_TEST(alike_processes_that_start_threads_are_told)
{
    b = builder_start(10, "app");
    add_starts(10, STARTS "sem_wait!python3 > futex [blocked]", 2000, 60);
    builder_process(&b, 20, "app", "");
    add_starts(20, STARTS "sem_wait!python3 > futex [blocked]", 1960, 60);
    judge(4000);
    assert_told(0, "thread_starts", "10 (app) spends 50% of its time starting threads, in ");
    assert_told(0, "thread_starts", " 20 (app) (49%) starts threads, too.");
    teardown();
}
END_TEST

/* A thread that begins takes the GIL from who starts it: of times that are about the same the
 * starts' comes first. */
START_TEST(starts_come_before_the_gil_that_they_wait_for)
{
    b = builder_start(10, "app");
    add_starts(10, STARTS "sem_wait!python3 > futex [blocked]", 400, 60);
    builder_run(&b, (thread_id){1}, STARTS "[waiting for GIL]", 9000, 0);
    judge(13000);
    assert_told(0, "thread_starts", "main spends 72% of its time starting threads, in ");
    assert_told(1, "gil", "main waits 69% of its time for the GIL");
    teardown();
}
END_TEST

START_TEST(few_starts_are_not_told)
{
    judge_starts(STARTS "sem_wait!python3 > futex [blocked]", 900, 60);
    assert_not_told("thread_starts");
    teardown();
    judge_starts(STARTS "sem_wait!python3 > futex [blocked]", 2000, 20); /* a slow start of some */
    assert_not_told("thread_starts");
    teardown();
    judge_starts("serve@/src/a.py:1:2 > Thread.join@/usr/lib/python3.11/threading.py:1:2 > "
                 "futex [blocked]",
                 2000, 60);
    assert_not_told("thread_starts");
    teardown();
}
END_TEST

/* Main starts threads for 5.9 of 8 s, 4 of them in waits for the GIL, which thread HOLDER has. */
static void judge_starts_for_gil(pid_t holder, const char *does)
{
    const struct wait_side gil = {.thing = THING_GIL,
                                  .blocker = {.kind = BLOCKER_THREAD, .pid = 10, .tid = holder}};
    b = builder_start(10, "app");
    add_starts(10, STARTS "sem_wait!python3 > futex [blocked]", 1900, 60);
    builder_held(&b, (thread_id){1},
                 "serve@/src/a.py:1:2 > Thread.start@/usr/lib/python3.11/threading.py:1:2", &gil,
                 4000);
    builder_run(&b, builder_thread(&b, holder, "encode"), does, 8000, 8000);
    judge(8000);
}

START_TEST(who_has_the_gil_in_a_start_is_to_blame)
{
    judge_starts_for_gil(900, "encode@/src/b.py:1:9");
    assert_not_told("thread_starts");
    assert_told(0, "gil", "encode held it 100% of that time");
    teardown();
    judge_starts_for_gil(900, "Thread._bootstrap@/usr/lib/python3.11/threading.py:1:2");
    assert_told(0, "thread_starts", "main spends 74% of its time starting threads, in ");
    teardown();
}
END_TEST

static int64_t computed_ns; /* by main's process */

/* Main starts threads for 0.4 s, and waits for 2.6 of 4 s, JOINS times, until they have ended. */
static void judge_joins(const char *joins, uint64_t n, int started)
{
    b = builder_start(10, "app");
    thread_id lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead, "serve!app", 1000, 1000);
    builder_run(&b, lead, "serve!app > pthread_create!libc.so.6 > clone3!libc.so.6", 400, 400);
    builder_run(&b, lead, joins, 2600, 0);
    struct profile_thread *t = profile_get_thread(b.p, lead);
    t->runs[2].weights.events.put_on_cpu = (uint32_t)n;
    t->usage = (struct profile_usage){.over_ns = 4000L * NS_PER_MS, .voluntary = n};
    profile_get_process(b.p, t->process)->usage.user_ns = computed_ns;
    profile_get_process(b.p, t->process)->usage.system_ns =
        INT64_C(3000) * NS_PER_MS; /* for them */
    for (int i = 0; i < started; i++) {
        thread_id job = builder_thread(&b, 100 + i, "handle");
        profile_get_thread(b.p, job)->start_ns = (200 + i) * NS_PER_MS;
        profile_get_thread(b.p, job)->ended = true;
        builder_run(&b, job, "handle!app", 10, 10);
    }
    judge(4000);
}

/* Most of them are seen by no sample: the kernel counts how often main waits for one. */
START_TEST(the_wait_for_threads_that_hardly_live_is_told_with_their_starts)
{
    static const char *const joins[] = {
        "serve!app > pthread_join!libc.so.6 > __pthread_clockjoin_ex!libc.so.6 > futex [blocked]",
        "serve!app > std::thread::join!libstdc++.so.6 > futex [blocked]",
        "serve@/src/a.py:1:2 > Thread.join@/usr/lib/python3.11/threading.py:1:2 > futex [blocked]",
    };
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++) {
        judge_joins(joins[i], 8000, 60);
        assert_told(0, "thread_starts",
                    "main spends 75% of its time starting threads and waiting for their ends, in ");
        assert_told(0, "thread_starts", ": 2,000 threads a second. Use a thread pool.");
        teardown();
    }
}
END_TEST

/* They work for 26 ms each, or for 1.3 ms; they compute for most of a wait; or they are a few. */
START_TEST(the_wait_for_threads_that_work_is_none_for_starts)
{
    static const char joins[] = "serve!app > pthread_join!libc.so.6 > futex [blocked]";
    judge_joins(joins, 100, 60);
    assert_not_told("thread_starts");
    teardown();
    judge_joins(joins, 2000, 60);
    assert_not_told("thread_starts");
    teardown();
    computed_ns = INT64_C(2000) * NS_PER_MS;
    judge_joins(joins, 8000, 60);
    computed_ns = 0;
    assert_not_told("thread_starts");
    teardown();
    judge_joins(joins, 8000, 2);
    assert_not_told("thread_starts");
    teardown();
}
END_TEST

/* 39 threads in 4 s are fewer than 10 a second. */
START_TEST(ended_threads_that_are_one_row_count_once_each)
{
    b = builder_start(10, "app");
    thread_id lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead, "serve@/src/a.py:1:2", 2000, 2000);
    builder_run(&b, lead, STARTS "sem_wait!python3 > futex [blocked]", 2000, 0);
    thread_id t = builder_thread(&b, 0, "handle");
    profile_get_thread(b.p, t)->n_folded = 29;
    profile_get_thread(b.p, t)->lived_ns = 10 * NS_PER_MS;
    builder_run(&b, t, "handle@/src/a.py:5:6", 10, 10);
    judge(4000);
    assert_not_told("thread_starts");
    teardown();
}
END_TEST

CHECK_MAIN("findings_starts", 20, starts_come_before_the_gil_that_they_wait_for,
           alike_processes_that_start_threads_are_told, who_starts_threads_all_the_time_is_told,
           few_starts_are_not_told, who_has_the_gil_in_a_start_is_to_blame,
           the_wait_for_threads_that_hardly_live_is_told_with_their_starts,
           the_wait_for_threads_that_work_is_none_for_starts,
           ended_threads_that_are_one_row_count_once_each)
