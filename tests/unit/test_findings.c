#include "summary/findings.h"

#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

enum { PID = 10 };

static thread_id lead;

static void setup(void)
{
    b = builder_start(PID, "python3");
    lead = builder_thread(&b, PID, NULL);
}

static const char waits[] = "f@/src/a.py:1:3 > Worker::sync!/src/w.so > futex [blocked]";
static const char asks[] = "Worker::run!/src/w.so > ask!/src/w.so > ioctl /dev/x [blocked]";
static const char rests[] = "Worker::run!/src/w.so > pop!/src/w.so > futex [blocked]";
static const char computes[] = "g@/src/a.py:5:6";

/* Main waits for SYNC_MS, the worker asks meanwhile for ASK_MS of it, and waits else. */
static thread_id main_and_worker(int64_t sync_ms, int64_t ask_ms)
{
    thread_id worker = builder_thread(&b, 11, "worker");
    builder_run(&b, lead, waits, sync_ms, 0);
    builder_run(&b, lead, computes, 4000 - sync_ms, 4000 - sync_ms);
    builder_run(&b, worker, asks, ask_ms, 0);
    builder_run(&b, worker, rests, 4000 - ask_ms, 0);
    return worker;
}

START_TEST(who_is_busy_meanwhile_is_named)
{
    setup();
    main_and_worker(3200, 3000);
    judge(4000);
    assert_told(
        0, "waits_meanwhile",
        "main waits 80% of its time in Worker::sync, called from f a.py:3. Meanwhile worker "
        "is 94% in Worker::run > ask > ioctl /dev/x: 75% of main's time ends "
        "there.");
    teardown();
    setup();
    main_and_worker(3200, 1000); /* busy for a third of the wait: somebody else is waited for */
    judge(4000);
    assert_not_told("waits_meanwhile");
    teardown();
}
END_TEST

/* Samples find main waiting for 40 % of its time; the kernel counts 14 % off the CPU. */
START_TEST(no_wait_is_longer_than_the_kernel_counts)
{
    for (int counted = 0; counted < 2; counted++) {
        setup();
        main_and_worker(1600, 1500);
        if (counted) {
            struct counts *counts = &profile_get_thread(b.p, lead)->counts;
            counts->ns[COUNTED_CPU] = 3440L * NS_PER_MS;
            counts->ns[COUNTED_OFF_CPU] = 560L * NS_PER_MS;
        }
        judge(4000);
        if (counted)
            assert_not_told("waits_meanwhile");
        else
            assert_told(
                0, "waits_meanwhile",
                "main waits 40% of its time in Worker::sync, called from f a.py:3. "
                "Meanwhile worker is 94% in Worker::run > ask > ioctl /dev/x: 38% of main's "
                "time ends there.");
        teardown();
    }
}
END_TEST

START_TEST(of_two_candidates_nobody_is_named)
{
    setup();
    main_and_worker(3200, 3000);
    builder_run(&b, builder_thread(&b, 12, "other"), "spin!/src/w.so", 4000, 4000);
    judge(4000);
    assert_not_told("waits_meanwhile");
    teardown();
}
END_TEST

/* It only waits for work while main computes. */
/* main only joins; of the two others one works, and waits for less of its time. */
START_TEST(a_helper_with_nothing_to_do_is_not_told_of)
{
    setup();
    thread_id helper = builder_thread(&b, 11, "finalizer");
    thread_id worker = builder_thread(&b, 12, "worker");
    builder_run(&b, lead, "main!app > pthread_join!libc.so.6 > futex [blocked]", 4000, 0);
    builder_run(&b, helper, "monitor!app > futex [blocked]", 4000, 0);
    builder_run(&b, worker, "enter!app > futex [blocked]", 3000, 0);
    builder_run(&b, worker, "work!app", 1000, 1000);
    judge(4000);
    assert_told(0, "waits", "worker waits 75% of its time in enter > futex.");
    teardown();
}
END_TEST

START_TEST(an_idle_worker_is_no_victim)
{
    setup();
    thread_id worker = builder_thread(&b, 11, "worker");
    builder_run(&b, lead, computes, 4000, 4000);
    builder_run(&b, worker, rests, 4000, 0);
    judge(4000);
    ck_assert_uint_eq(found.n_printed, 1);
    assert_told(0, "computes", "main computes: it ran 100% of 4.0 s, 100% in g a.py:6.");
    teardown();
}
END_TEST

static const char syncs[] = "step!app|/src/a.cc:9 > cudaStreamSynchronize!libcudart.so.12";

/* It ran all the time, and worked for a quarter of it. */
START_TEST(spinning_is_no_work)
{
    setup();
    builder_run(&b, lead, syncs, 3000, 3000);
    builder_run(&b, lead, "step!app|/src/a.cc:9 > prepare!app|/src/a.cc:3", 1000, 1000);
    judge(4000);
    assert_told(0, "spinning",
                "main spins 75% of its time for the GPU, in cudaStreamSynchronize, called from "
                "step a.cc:9, which burns 0.8 CPU. It waits for what was queued ");
    assert_not_told("computes");
    teardown();
}
END_TEST

/* Four threads of which each has a tenth of a CPU, and spins for all of it. */
START_TEST(spinning_counts_where_there_are_too_few_cpus)
{
    static const char waits_there[] = "start_thread!libc.so.6 > gomp_thread_start!libgomp.so.1";
    setup();
    builder_run(&b, lead, "step!app|/src/a.cc:9", 4000, 4000);
    for (pid_t tid = 11; tid < 15; tid++) {
        thread_id worker = builder_thread(&b, tid, NULL);
        builder_run(&b, worker, waits_there, 400, 400);
        builder_runnable(&b, worker, "gomp_thread_start!libgomp.so.1 > [waiting for cpu]", 3600);
    }
    judge(4000);
    bool told = false;
    for (size_t i = 0; i < found.n_printed; i++)
        told |= strstr(found.printed[i]->words, "spin 100% of their CPU time at OpenMP barriers") &&
                strstr(found.printed[i]->words, ", which burns 0.4 CPU. Meanwhile main is 100% in "
                                                "step a.cc:9. OMP_WAIT_POLICY=passive");
    ck_assert_msg(told, "%s", found.printed[0]->words);
    teardown();
}
END_TEST

START_TEST(a_wait_that_sleeps_and_a_call_back_do_not_spin)
{
    setup();
    struct text sleeps = {0};
    struct text works = {0};
    text_addf(&sleeps, "%s > poll!libc.so.6 > poll [blocked]", syncs);
    text_addf(&works, "%s > on_done!app", syncs);
    builder_run(&b, lead, sleeps.s, 1500, 0);
    builder_run(&b, lead, works.s, 2500, 2500);
    judge(4000);
    assert_not_told("spinning");
    assert_told(0, "computes",
                "main computes: it ran 63% of 4.0 s, 63% in "
                "cudaStreamSynchronize > on_done");
    text_release(&sleeps);
    text_release(&works);
    teardown();
}
END_TEST

/* Spinning is not being busy: nobody is waited for who does. */
START_TEST(who_spins_is_not_named_as_busy)
{
    setup();
    builder_run(&b, lead, waits, 4000, 0);
    builder_run(&b, builder_thread(&b, 11, "gpu"), syncs, 4000, 4000);
    judge(4000);
    assert_not_told("waits_meanwhile");
    teardown();
}
END_TEST

static uint32_t near_copy = 96;

/* Thread LEAD copies for a quarter of its time, and takes nearly all of its faults there. */
static void add_copies(uint64_t faults, const char *returns)
{
    builder_run(&b, lead, "step!app|/src/a.c:9 > memcpy!libc.so.6", 1000, 1000);
    profile_get_thread(b.p, lead)->runs[0].weights.events.near_faults = near_copy;
    builder_run(&b, lead, "step!app|/src/a.c:9 > think!app|/src/a.c:3", 2900, 2900);
    profile_get_thread(b.p, lead)->runs[1].weights.events.near_faults = 4;
    builder_run(&b, lead, returns, 100, 100);
    profile_get_thread(b.p, lead)->usage = (struct profile_usage){.over_ns = 4000L * NS_PER_MS,
                                                                  .user_ns = 1680L * NS_PER_MS,
                                                                  .system_ns = 2320L * NS_PER_MS,
                                                                  .minor_faults = faults};
}

static void copies(uint64_t faults, const char *returns)
{
    setup();
    add_copies(faults, returns);
    judge(4000);
}

START_TEST(faults_are_told_where_they_come)
{
    copies(292000, "step!app|/src/a.c:9 > madvise!libc.so.6");
    assert_told(0, "page_faults",
                "main takes 73,000 minor page faults a second, 96% of them in memcpy, called from "
                "step a.c:9. 58% of its CPU time is in the kernel. step a.c:9 gives memory back to "
                "the kernel by madvise().");
    teardown();
    copies(292000, "step!app|/src/a.c:9 > free!libc.so.6 > munmap!libc.so.6");
    assert_told(0, "page_faults",
                "glibc, gives memory back to the kernel. Set both MALLOC_TRIM_THRESHOLD_");
    teardown();
    copies(292000, "step!app|/src/a.c:9 > 0x7f0010!libjemalloc.so.2 > madvise!libc.so.6");
    assert_told(0, "page_faults",
                "Its allocator, jemalloc, gives memory back to the kernel. MALLOC_CONF=");
    teardown();
    copies(292000, "step!app|/src/a.c:9 > free!libjemalloc.so.2 > madvise!libc.so.6");
    assert_told(0, "page_faults",
                "Its allocator, jemalloc, gives memory back to the kernel. MALLOC_CONF=");
    teardown();
    copies(292000, "step!app|/src/a.c:9 > free!libc.so.6 > brk!libc.so.6");
    ck_assert(is_said("Its allocator, glibc, gives memory back to the kernel."));
    teardown();
    copies(292000, "step!app|/src/a.c:9 > malloc!libc.so.6 > brk!libc.so.6"); /* it gets some */
    ck_assert(is_said("minor page faults") && !is_said("gives memory back"));
    teardown();
    copies(20000, "step!app|/src/a.c:9 > madvise!libc.so.6");
    assert_not_told("page_faults");
    teardown();
    near_copy = 0; /* no stop saw one: where the thread ran most need not be where they came */
    copies(292000, "step!app|/src/a.c:9 > madvise!libc.so.6");
    near_copy = 96;
    assert_told(
        0, "page_faults",
        "main takes 73,000 minor page faults a second. 58% of its CPU time is in the kernel.");
    teardown();
}
END_TEST

START_TEST(alike_processes_that_fork_are_told)
{
    b = builder_start(PID, "python3");
    for (int i = 0; i < 2; i++) {
        if (i)
            builder_process(&b, PID + i, "python3", "");
        lead = builder_thread(&b, PID + i, NULL);
        add_copies(292000, "step!app|/src/a.c:9 > __libc_fork!libc.so.6 > _Fork!libc.so.6");
    }
    judge(4000);
    assert_told(0, "page_faults",
                "They fork: each page that they write to while a child lives is copied first.");
    teardown();
}
END_TEST

/* A child that runs another program has none of the pages. */
#define LAUNCH "step@/src/w.py:5:6 > _launch@/usr/lib/python3.11/multiprocessing/popen_fork.py:6:7"
START_TEST(pages_that_a_fork_has_copied_are_told)
{
    static const char forks[] = "step!app|/src/a.c:9 > __libc_fork!libc.so.6 > _Fork!libc.so.6";
    static const struct {
        const char *stack, *child;
        bool ended;
        const char *words; /* NULL: no fork is in them */
    } cases[] = {
        {forks, NULL, false,
         "It forks: each page that it writes to while a child lives is copied first."},
        {forks, "python3", false, "Fewer forks make fewer copies."},
        {forks, "ls", true, NULL},
        {"step!app", "python3", true, "It forks: each page"},
        {"step!app", "python3", false, NULL}, /* forked once; another one has ended */
        {"step!app", "ls", true, NULL},
        {"step!app", NULL, false, NULL},
        {LAUNCH, NULL, false, "It forks: each page"},
        {LAUNCH " > work@/src/w.py:1:2", NULL, false, NULL}, /* the child: its parent forked */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        b = builder_start(PID, "python3");
        const char *comm = cases[i].child ? cases[i].child : "";
        struct profile_child child = {
            .pid = 20, .comm = profile_string(b.p, comm), .came_and_went = cases[i].ended};
        profile_set_children(b.p, b.process, &child, cases[i].child != NULL);
        profile_get_process(b.p, b.process)->children_cpu_ns = cases[i].child ? NS_PER_MS : 0;
        lead = builder_thread(&b, PID, NULL);
        add_copies(292000, cases[i].stack);
        judge(4000);
        assert_told(0, "page_faults", cases[i].words ? cases[i].words : "is in the kernel.");
        ck_assert(cases[i].words || !strstr(found.printed[0]->words, "fork"));
        teardown();
    }
}
END_TEST

/* Three of four waits are reads, however short; OWN were for wallspy's stops. */
static void waits_often(uint64_t voluntary, uint64_t own, int64_t system_ms)
{
    setup();
    builder_run(&b, lead, "main!app > read!libc.so.6 > read pipe [blocked]", 1000, 0);
    profile_get_thread(b.p, lead)->runs[0].weights.events.put_on_cpu = 3000;
    builder_run(&b, lead, "main!app > rest!app > nanosleep [blocked]", 3000, 0);
    profile_get_thread(b.p, lead)->runs[1].weights.events.put_on_cpu = 1000;
    struct profile_thread *t = profile_get_thread(b.p, lead);
    t->usage = (struct profile_usage){
        .over_ns = 4000L * NS_PER_MS, .voluntary = voluntary, .system_ns = system_ms * NS_PER_MS};
    t->own_switches = own;
    judge(4000);
}

START_TEST(switches_are_told_where_they_come)
{
    waits_often(80400, 400, 800);
    assert_told(0, "switches",
                "main goes to sleep 20,000 times a second, 75% of that in "
                "main > read pipe; 100% of its CPU time is in the kernel.");
    teardown();
    waits_often(80400, 400, 100); /* they took the kernel no longer */
    assert_not_told("switches");
    teardown();
    waits_often(40400, 4000, 800);
    assert_not_told("switches");
    teardown();
}
END_TEST

START_TEST(few_samples_are_no_finding)
{
    setup();
    builder_run(&b, lead, waits, 400, 0);
    judge(400);
    ck_assert_uint_eq(found.n_printed, 1);
    assert_told(0, "too_short", "too short for a finding: 400 ms; -r 1000 takes more samples");
    teardown();
}
END_TEST

static const struct wait_side gil_of_11 = {
    .thing = THING_GIL, .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = 11}};
static const struct wait_side gil_of_12 = {
    .thing = THING_GIL, .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = 12}};

START_TEST(who_has_the_gil_is_named)
{
    setup();
    thread_id hog = builder_thread(&b, 11, "encode");
    builder_held(&b, lead, "serve@/src/a.py:1:2", &gil_of_11, 3400);
    builder_run(&b, lead, "serve@/src/a.py:1:2", 600, 600);
    builder_run(&b, hog, "encode@/src/b.py:1:9", 4000, 3900);
    judge(4000);
    assert_told(0, "gil",
                "main waits 85% of its time for the GIL in serve a.py:2. encode held it "
                "100% of that time, in encode b.py:9. Python code keeps it for 5 ms at a time");
    assert_not_told("waits_meanwhile");
    teardown();
}
END_TEST

START_TEST(as_many_holders_of_the_gil_are_named_as_explain_the_wait)
{
    setup();
    thread_id parse = builder_thread(&b, 11, "parse");
    thread_id encode = builder_thread(&b, 12, "encode");
    builder_held(&b, lead, "serve@/src/a.py:1:2", &gil_of_11, 1600);
    builder_held(&b, lead, "serve@/src/a.py:1:2", &gil_of_12, 2400);
    builder_run(&b, parse, "parse@/src/c.py:1:9", 2000, 2000);
    builder_run(&b, parse, "parse@/src/c.py:1:9 > [waiting for GIL]", 2000, 0);
    builder_run(&b, encode, "encode@/src/b.py:1:9", 3000, 3000);
    builder_run(&b, encode, "encode@/src/b.py:1:9 > [waiting for GIL]", 1000, 0);
    judge(4000);
    assert_told(0, "gil",
                "main waits 100% of its time for the GIL in serve a.py:2. encode held it "
                "60% of that time, parse 40%, in encode b.py:9.");
    teardown();
}
END_TEST

/* As those that a server starts for each request: some had the GIL for longer than others. */
START_TEST(holders_of_the_gil_that_are_called_alike_are_added_up)
{
    setup();
    thread_id first = builder_thread(&b, 11, "serve-1");
    thread_id second = builder_thread(&b, 12, "serve-2");
    builder_held(&b, lead, "accept@/src/a.py:1:2", &gil_of_11, 1600);
    builder_held(&b, lead, "accept@/src/a.py:1:2", &gil_of_12, 2400);
    builder_run(&b, first, "match@/src/c.py:1:9", 1600, 1600);
    builder_run(&b, first, "other@/src/c.py:1:9 > clock_nanosleep [blocked]", 2400, 0);
    builder_run(&b, second, "match@/src/c.py:1:9", 4000, 4000);
    judge(4000);
    assert_told(0, "gil",
                "for the GIL in accept a.py:2. 2 serve threads held it 100% of that time, "
                "in match c.py:9.");
    teardown();
}
END_TEST

START_TEST(files_of_a_mount_are_added_up)
{
    setup();
    for (int i = 0; i < 100; i++) {
        char stack[64];
        (void)snprintf(stack, sizeof stack, "load@/src/a.py:1:2 > read /mnt/data//%d [blocked]",
                       i % 10);
        builder_run(&b, lead, stack, 30, 0);
        builder_run(&b, lead, computes, 10, 10);
    }
    judge(4000);
    assert_told(
        0, "slow_files",
        "main spends 75% of its time reading 10 files in /mnt/data (nfs4 nfs01:/export), in "
        "load a.py:2.");
    teardown();
}
END_TEST

/* The kernel counted 60 reads in 3 seconds: 50 ms each. */
START_TEST(reads_take_their_part_of_the_time)
{
    setup();
    for (int i = 0; i < 100; i++) {
        builder_run(&b, lead, "load@/src/a.py:1:2 > read /mnt/data//1 [blocked]", 30, 0);
        builder_run(&b, lead, computes, 10, 10);
    }
    profile_get_thread(b.p, lead)->usage =
        (struct profile_usage){.over_ns = 4000L * NS_PER_MS, .reads = 60};
    judge(4000);
    assert_told(0, "slow_files",
                "main spends 75% of its time reading /mnt/data/1 (nfs4 nfs01:/export), 50 ms a "
                "read, in load a.py:2.");
    teardown();
}
END_TEST

/* No kernel counts these: but waits of more than 1.5 ticks are one call each. */
START_TEST(only_long_calls_are_counted)
{
    for (int is_long = 0; is_long < 2; is_long++) {
        setup();
        profile_set_number(b.p, METRIC_RATE_HZ, 100);
        for (int i = 0; i < 100; i++) {
            builder_run(&b, lead, "log@/src/a.py:1:2 > fsync /mnt/data//1 [blocked]", 30, 0);
            profile_get_thread(b.p, lead)->runs[2L * i].waits = is_long ? 1 : 3;
            builder_run(&b, lead, computes, 10, 10);
        }
        judge(4000);
        assert_told(0, "slow_files",
                    is_long ? "main spends 75% of its time syncing /mnt/data/1 (nfs4 "
                              "nfs01:/export), 30 ms a sync, in log a.py:2."
                            : "main spends 75% of its time syncing /mnt/data/1 (nfs4 "
                              "nfs01:/export), in log a.py:2.");
        teardown();
    }
}
END_TEST

START_TEST(a_stall_is_named_with_what_it_did)
{
    setup();
    for (int i = 0; i < 20; i++) {
        builder_run(&b, lead, "loop@/src/a.py:1:2 > epoll_wait eventpoll [blocked]", 150, 0);
        builder_run(&b, lead, "loop@/src/a.py:1:3 > build_report@/src/a.py:5:6", i == 7 ? 330 : 20,
                    20);
    }
    judge(3710);
    assert_told(
        0, "event_loop",
        "main runs an event loop (epoll) and is idle 81% of its time. Longest stall: 330 ms in "
        "build_report a.py:6. That takes 100% of its other time.");
    teardown();
}
END_TEST

/* One sample that came late is no end of a stall, more than a second without one is no stall. */
static void judge_loop_with_missed(int64_t missed_ms)
{
    setup();
    for (int i = 0; i < 20; i++) {
        builder_run(&b, lead, "loop@/src/a.py:1:2 > epoll_wait eventpoll [blocked]", 150, 0);
        builder_run(&b, lead, "loop@/src/a.py:1:3 > work@/src/a.py:5:6", 60, 60);
        if (i == 7) {
            builder_missed(&b, lead, missed_ms);
            builder_run(&b, lead, "loop@/src/a.py:1:3 > work@/src/a.py:5:6", 60, 60);
        }
    }
    judge(20L * 210 + missed_ms + 60);
}

START_TEST(time_without_samples_is_no_stall)
{
    judge_loop_with_missed(10);
    assert_told(0, "event_loop", "Longest stall: 130 ms in work a.py:6");
    teardown();
    judge_loop_with_missed(1500);
    assert_told(0, "event_loop", "main runs an event loop (epoll) and is idle");
    ck_assert_ptr_null(strstr(found.printed[0]->words, "stall"));
    teardown();
}
END_TEST

START_TEST(a_stolen_arena_is_put_before_who_joins)
{
    setup();
    builder_run(&b, lead, "main!/src/p > futex [blocked]", 4000, 0);
    for (int i = 0; i < 4; i++) {
        thread_id t = builder_thread(&b, 11 + i, i % 2 ? "parse-1" : "parse-2");
        for (int k = 0; k < 100; k++) {
            builder_run(&b, t, "build!/src/p > malloc!libc.so.6 > futex [blocked]", 16, 0);
            builder_run(&b, t, "build!/src/p", 24, 24);
        }
    }
    judge(4000);
    assert_told(0, "malloc_arena",
                "4 parse threads wait 40% of their time for a malloc arena's lock, in build.");
    teardown();
}
END_TEST

/* Two threads, at the lock of a function of the C library's for AT_LOCK_MS of each 40. */
static void call_libc(const char *function, int64_t at_lock_ms)
{
    struct text in = {0};
    struct text waits_in = {0};
    text_addf(&in, "throw!/src/p > %s!libc.so.6", function);
    text_addf(&waits_in, "%s > __lll_lock_wait_private!libc.so.6 > futex [blocked]", in.s);
    setup();
    builder_run(&b, lead, "main!/src/p > futex [blocked]", 4000, 0);
    for (int i = 0; i < 2; i++) {
        thread_id t = builder_thread(&b, 11 + i, "player");
        for (int k = 0; k < 100; k++) {
            builder_run(&b, t, waits_in.s, at_lock_ms, 0);
            builder_run(&b, t, in.s, 20 - at_lock_ms, 20 - at_lock_ms);
            builder_run(&b, t, "throw!/src/p", 20, 20);
        }
    }
    judge(4000);
    text_release(&in);
    text_release(&waits_in);
}

START_TEST(a_lock_inside_the_c_library_is_told)
{
    call_libc("__random", 15);
    assert_told(0, "libc_lock",
                "2 player threads spend 50% of their time in random(), called from throw, 75% of "
                "that waiting for its lock, which all threads share.");
    teardown();
    setup();
    builder_run(&b, lead, "throw!/src/p > __random!libc.so.6", 1600, 1600); /* never asleep */
    builder_run(&b, lead, "throw!/src/p", 2400, 2400);
    thread_id dealer = builder_thread(&b, 11, "dealer");
    builder_run(&b, dealer,
                "throw!/src/p > __random!libc.so.6 > __lll_lock_wait_private!libc.so.6 > futex "
                "[blocked]",
                2000, 0);
    builder_run(&b, dealer, "throw!/src/p > __random!libc.so.6", 1000, 1000);
    builder_run(&b, dealer, "throw!/src/p", 1000, 1000);
    judge(4000);
    assert_told(0, "libc_lock",
                "which all threads share. main is in it for "
                "40% of its time.");
    teardown();
    call_libc("__random", 3); /* 8 % of the time */
    assert_not_told("libc_lock");
    teardown();
    call_libc("pthread_mutex_lock", 15); /* the program's own */
    assert_not_told("libc_lock");
    teardown();
}
END_TEST

START_TEST(nothing_that_ran_is_said)
{
    setup();
    builder_run(&b, lead, waits, 4000, 0);
    builder_run(&b, builder_thread(&b, 11, "w"), "w!/src/w.so > futex [blocked]", 4000, 0);
    judge(4000);
    ck_assert_uint_eq(found.n_printed, 1);
    assert_told(0, "none_ran", "Neither thread ran in 4.0 s. main waits in Worker::sync");
    teardown();
}
END_TEST

START_TEST(paragraphs_are_no_wider_than_asked)
{
    setup();
    main_and_worker(3200, 3000);
    judge(4000);
    struct text out = {0};
    findings_write(&found, 60, &out);
    for (const char *line = out.s; *line;) {
        size_t len = strcspn(line, "\n");
        ck_assert_uint_le(utf8_columns(line, len), 60);
        ck_assert(len == 0 || str_starts(line, "  "));
        line += len + 1;
    }
    ck_assert(str_ends(out.s, ".\n\n"));
    text_release(&out);
    teardown();
}
END_TEST

/* A disk that is fast lets a thread wait for a part of the call only. */
START_TEST(what_the_kernel_computes_in_a_sync_is_part_of_it)
{
#define SAVES "save@/src/a.py:1:2 > commit!libdb.so > fdatasync!libc.so.6"
    b = builder_start(10, "app");
    lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead, SAVES " > fdatasync /data/log [blocked]", 800, 0);
    builder_run(&b, lead, SAVES, 2000, 2000);
    builder_run(&b, lead, "load@/src/a.py:5:6", 1200, 1200);
    judge(4000);
    assert_told(0, "slow_files", "main spends 70% of its time syncing /data/log");
    ck_assert(!is_said("for a CPU"));
    teardown();
    setup();
    builder_run(&b, lead, SAVES " > fdatasync /data/log [blocked]", 800, 0);
    builder_runnable(&b, lead, SAVES, 2000);
    builder_run(&b, lead, "load@/src/a.py:5:6", 1200, 1200);
    judge(4000);
    ck_assert(is_said("It waits for a CPU for 50% of its time."));
    teardown();
}
END_TEST

/* THREADS of them wait for tasks, 20,000 times a second in all; main does WAKES for WAKES_MS of
 * 4 s. */
static void judge_herd(int threads, const char *wakes, int64_t wakes_ms)
{
    setup();
    builder_run(&b, lead, "main!app > rest!app > nanosleep [blocked]", 4000 - wakes_ms, 0);
    builder_run(&b, lead, wakes, wakes_ms, wakes_ms);
    for (int i = 0; i < threads; i++) {
        thread_id t = builder_thread(&b, 11 + i, "taskq");
        builder_run(&b, t, "taskq!app > pthread_cond_wait!libc.so.6 > futex [blocked]", 3900, 0);
        builder_run(&b, t, "taskq!app", 100, 100);
        profile_get_thread(b.p, t)->runs[0].weights.events.put_on_cpu = 10000;
        profile_get_thread(b.p, t)->usage =
            (struct profile_usage){.over_ns = 4000L * NS_PER_MS,
                                   .voluntary = 80000 / (uint64_t)threads,
                                   .system_ns = 50 * NS_PER_MS};
    }
    judge(4000);
}

static bool herd_is_said(void)
{
    bool said = false;
    for (size_t i = 0; i < found.n_printed; i++)
        said |= strstr(found.printed[i]->words, " main may wake them all, in ") != NULL;
    return said;
}

START_TEST(a_herd_is_told_with_who_wakes_it)
{
    static const struct {
        const char *wakes;
        int threads;
        int64_t wakes_ms;
        bool herd;
    } cases[] = {
        {"main!app > dispatch!app > __pthread_cond_broadcast!libc.so.6", 8, 400, true},
        {"main!app > std::condition_variable::notify_all!libstdc++.so.6", 8, 400, true},
        {"main!app > dispatch!app > __pthread_cond_signal!libc.so.6", 8, 400, false},
        {"main!app > dispatch!app > __pthread_cond_broadcast!libc.so.6", 2, 400, false},
        {"main!app > dispatch!app > __pthread_cond_broadcast!libc.so.6", 8, 20, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        judge_herd(cases[i].threads, cases[i].wakes, cases[i].wakes_ms);
        ck_assert_msg(herd_is_said() == cases[i].herd, "%zu", i);
        teardown();
    }
}
END_TEST

CHECK_MAIN("findings", 20, what_the_kernel_computes_in_a_sync_is_part_of_it,
           spinning_counts_where_there_are_too_few_cpus, who_is_busy_meanwhile_is_named,
           no_wait_is_longer_than_the_kernel_counts, of_two_candidates_nobody_is_named,
           a_helper_with_nothing_to_do_is_not_told_of, an_idle_worker_is_no_victim,
           few_samples_are_no_finding, who_has_the_gil_is_named,
           as_many_holders_of_the_gil_are_named_as_explain_the_wait,
           holders_of_the_gil_that_are_called_alike_are_added_up, files_of_a_mount_are_added_up,
           reads_take_their_part_of_the_time, only_long_calls_are_counted,
           a_stall_is_named_with_what_it_did, time_without_samples_is_no_stall,
           a_stolen_arena_is_put_before_who_joins, a_lock_inside_the_c_library_is_told,
           nothing_that_ran_is_said, paragraphs_are_no_wider_than_asked, spinning_is_no_work,
           a_wait_that_sleeps_and_a_call_back_do_not_spin, who_spins_is_not_named_as_busy,
           faults_are_told_where_they_come, pages_that_a_fork_has_copied_are_told,
           alike_processes_that_fork_are_told, switches_are_told_where_they_come,
           a_herd_is_told_with_who_wakes_it)
