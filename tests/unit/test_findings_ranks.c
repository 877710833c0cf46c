/* Findings about several processes: launchers, and the odd rank. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

#define MODULE "<module>@/src/a.py:1:12 > "

static void without_processes(void)
{
    b = builder_start(10, "python3");
    profile_free(b.p);
    b.p = profile_new(0);
}

/* The thread of a rank.  OPENMP: how many threads its environment asks for; 0: it does not. */
static thread_id add_rank(int rank, int openmp)
{
    char environment[40];
    int n = snprintf(environment, sizeof environment, "RANK=%d", rank);
    if (openmp)
        (void)snprintf(environment + n, sizeof environment - (size_t)n, " OMP_NUM_THREADS=%d",
                       openmp);
    builder_process(&b, 100 + rank, "python3", environment);
    return builder_thread(&b, 100 + rank, NULL);
}

/* A launcher's main thread leads nobody: its workers hardly run, and have their findings. */
START_TEST(the_workers_of_a_launcher_are_told_of)
{
    static const struct profile_child children[] = {{.pid = 20, .recorded = true}};
    b = builder_start(10, "gunicorn");
    thread_id launcher = builder_thread(&b, 10, NULL);
    builder_run(&b, launcher, "wait@/src/a.py:1:2 > futex [blocked]", 4000, 0);
    profile_set_children(b.p, b.process, children, 1);
    builder_process(&b, 20, "gunicorn", "");
    thread_id worker = builder_thread(&b, 20, NULL);
    builder_run(&b, worker, "fetch@/src/a.py:1:9 > recvfrom socket [blocked]", 3960, 0);
    builder_run(&b, worker, "fetch@/src/a.py:1:9", 40, 40);
    judge(4000);
    assert_told(0, "waits",
                "20 (gunicorn) waits 99% of its time in fetch a.py:9 > recvfrom "
                "socket.");
    teardown();
}
END_TEST

START_TEST(the_odd_rank_is_named)
{
    without_processes();
    for (int rank = 0; rank < 3; rank++) {
        thread_id t = add_rank(rank, 0);
        if (rank == 1)
            builder_run(&b, t, "load@/src/a.py:1:2 > read /data/x [blocked]", 3600, 0);
        builder_run(&b, t, "all_reduce@/src/a.py:5:9 > futex [blocked]", rank == 1 ? 400 : 4000, 0);
    }
    judge(4000);
    assert_told(0, "differs",
                "rank1 differs: 90% of its time in load a.py:2, against 0% in rank0 and rank2. "
                "Meanwhile they are in all_reduce a.py:9 > futex, 100%.");
    teardown();
}
END_TEST

/* The others of a pool have no task left: they are in no function of the user's at all. */
START_TEST(that_the_others_have_no_work_is_told)
{
    static const char rests[] = "main@/src/a.py:1:2 > "
                                "worker@/usr/lib/python3.11/multiprocessing/pool.py:1:2 > "
                                "SimpleQueue.get@/usr/lib/python3.11/multiprocessing/queues.py:1:2 "
                                "> futex [blocked]";
    without_processes();
    for (int rank = 0; rank < 3; rank++) {
        thread_id t = add_rank(rank, 0);
        if (rank == 1)
            builder_run(&b, t, "main@/src/a.py:1:2 > value@/src/a.py:5:6 > accrue@/src/a.py:8:9",
                        4000, 4000);
        else
            builder_run(&b, t, rests, 4000, 0);
        builder_run(&b, t, "main@/src/a.py:1:2", 20, 20);
    }
    judge(4020);
    assert_told(0, "differs",
                "rank1 differs: 100% of its time in accrue a.py:9, against 0% in rank0 and rank2. "
                "They wait for work for 100% of their time.");
    teardown();
}
END_TEST

#define WORK "work@/src/a.py:1:2 > "
/* All compute in one function: the odd one does by a way of its own.  OTHERS: where the other ranks
 * are before. */
static void judge_way_of_its_own(const char *others)
{
    without_processes();
    for (int rank = 0; rank < 3; rank++) {
        thread_id t = add_rank(rank, 0);
        builder_run(&b, t, rank ? others : WORK "train@/src/a.py:5:6 > compute@/src/a.py:8:9", 500,
                    500);
        if (rank == 0)
            builder_run(&b, t, WORK "evaluate@/src/a.py:11:12 > compute@/src/a.py:8:9", 3500, 3500);
        else
            builder_run(&b, t, WORK "wait@/src/a.py:14:15 > futex [blocked]", 3500, 0);
    }
    judge(4000);
}

START_TEST(the_odd_ranks_own_function_is_named)
{
    judge_way_of_its_own(WORK "train@/src/a.py:5:6 > compute@/src/a.py:8:9");
    assert_told(0, "differs",
                "rank0 differs: 88% of its time in evaluate a.py:12 > compute a.py:9, against 0% "
                "in rank1 and rank2.");
    teardown();
    /* By another way the others are there, too. */
    judge_way_of_its_own(WORK
                         "train@/src/a.py:5:6 > evaluate@/src/a.py:11:12 > compute@/src/a.py:8:9");
    assert_told(0, "differs", "rank0 differs: 100% of its time in compute a.py:9, against 13% in");
    teardown();
}
END_TEST

/* One is found at rest, or at work, far more often than its like.  DENIED: the kernel counts 40 %
 * of work, as beside busy programs. */
static void one_of_three_differs(int64_t rests_ms, bool denied)
{
    without_processes();
    for (int rank = 0; rank < 3; rank++) {
        builder_process(&b, 100 + rank, "python3", "");
        thread_id t = builder_thread(&b, 100 + rank, NULL);
        int64_t rests = rank == 1 ? rests_ms : 2000;
        builder_run(&b, t, MODULE "rest@/src/a.py:1:2 > clock_nanosleep [blocked]", rests, 0);
        builder_run(&b, t, MODULE "work@/src/a.py:5:9", 4000 - rests, 4000 - rests);
        profile_get_thread(b.p, t)->counts.ns[COUNTED_CPU] =
            (rank == 1 && denied ? 1600L : 4000 - rests) * NS_PER_MS;
    }
    judge(4000);
}

/* Three processes that one has forked: one of them serves the two others. */
START_TEST(who_serves_the_others_is_of_another_kind)
{
    static const char begins[] =
        MODULE "start@/usr/lib/python3.11/multiprocessing/process.py:1:2 > "
               "_bootstrap@/usr/lib/python3.11/multiprocessing/process.py:3:4 > ";
    for (int alike = 0; alike < 2; alike++) {
        b = builder_start(10, "python3");
        profile_free(b.p);
        b.p = profile_new(0);
        for (int i = 0; i < 3; i++) {
            struct text stack = {0};
            bool serves = i == 0;
            text_addf(&stack, "%s%s", begins, alike || !serves ? "add_up@/src/a.py:5:9 > " : "");
            text_add(&stack, serves ? "serve@/usr/lib/python3.11/s.py:1:2 > futex [blocked]"
                                    : "ask@/usr/lib/python3.11/s.py:3:4 > read socket [blocked]");
            builder_process(&b, 100 + i, "python3", NULL);
            builder_run(&b, builder_thread(&b, 100 + i, NULL), stack.s, 4000, 0);
            text_release(&stack);
        }
        judge(4000);
        ck_assert_int_eq(str_eq(found.printed[0]->rule, "differs"), alike);
        teardown();
    }
}
END_TEST

/* Of threads that take turns to poll the others wait for their turn, and not for the one. */
START_TEST(who_polls_for_others_is_not_odd)
{
    for (int polls = 0; polls < 2; polls++) {
        b = builder_start(10, "app");
        builder_run(&b, builder_thread(&b, 10, NULL), "main!app > read pipe [blocked]", 4000, 0);
        for (int i = 0; i < 4; i++)
            builder_run(&b, builder_thread(&b, 11 + i, "engine"),
                        i       ? "work!app > park!app > pthread_cond_wait!libc.so.6 > futex "
                                  "[blocked]"
                        : polls ? "work!app > epoll_wait [blocked]"
                                : "work!app > compute!app > write /data/x [blocked]",
                        4000, 0);
        judge(4000);
        ck_assert_int_eq(is_said("engine differs"), !polls);
        teardown();
    }
}
END_TEST

START_TEST(a_rank_is_not_odd_by_samples_that_the_kernel_denies)
{
    one_of_three_differs(3900, false);
    assert_told(0, "differs",
                "101 (python3) differs: 98% of its time in rest a.py:2, against 50% in "
                "100 (python3) and 102 (python3).");
    teardown();
    one_of_three_differs(3900, true);
    ck_assert_str_ne(found.printed[0]->rule, "differs");
    teardown();
    one_of_three_differs(200, false);
    assert_told(0, "differs", "101 (python3) differs: 95% of its time in work a.py:9, against 50%");
    teardown();
    one_of_three_differs(200, true);
    ck_assert_str_ne(found.printed[0]->rule, "differs");
    teardown();
}
END_TEST

/* Four ranks that want 3.6 of 2 CPUs, and have N OpenMP threads each.  The hypervisor takes
 * STOLEN_MS of 4 s. */
static void ranks_wait_for_cpus(int n, int64_t stolen_ms)
{
    without_processes();
    for (int rank = 0; rank < 4; rank++) {
        thread_id t = add_rank(rank, n);
        builder_run(&b, t, "work@/src/a.py:1:2", 2000, 2000);
        builder_runnable(&b, t, "work@/src/a.py:1:2 > [waiting for cpu]", 2000);
        profile_get_thread(b.p, t)->counts.ns[COUNTED_RUNQUEUE] = 1600L * NS_PER_MS;
    }
    *profile_get_host(b.p) = (struct profile_host){
        .over_ns = 4000L * NS_PER_MS, .cpus_online = 2, .stolen_ns = stolen_ms * NS_PER_MS};
    judge(4000);
}

/* It is the cause if it took half of what is missing: 0.8 CPUs. */
START_TEST(a_hypervisor_is_blamed_for_what_it_took)
{
    ranks_wait_for_cpus(8, 1200);
    assert_told(
        0, "cpu_wait",
        "wanted 3.6, other programs used 0.0 CPU, the hypervisor took 0.3. OMP_NUM_THREADS");
    teardown();
    ranks_wait_for_cpus(8, 4000);
    assert_told(0, "cpu_wait", ": the hypervisor took 1.0 of this machine's 2 CPUs.");
    teardown();
}
END_TEST

START_TEST(fewer_threads_are_advised_only_where_there_are_more_than_cpus)
{
    ranks_wait_for_cpus(8, 0);
    assert_told(0, "cpu_wait",
                "4 ranks wait 40% of their time for a CPU, mainly in work a.py:2: they may "
                "use 2 CPUs; this recording's threads wanted 3.6, other programs used 0.0 CPU. "
                "OMP_NUM_THREADS is 8; try 2.");
    teardown();
    ranks_wait_for_cpus(1, 0);
    ck_assert_ptr_null(strstr(found.printed[0]->words, "OMP_NUM_THREADS"));
    teardown();
}
END_TEST

/* Whatever helpers of the ranks do. */
START_TEST(an_odd_rank_comes_before_an_odd_helper)
{
    without_processes();
    for (int i = 0; i < 6; i++) {
        bool odd = i % 3 == 1;
        if (i >= 3)
            builder_process(&b, 100 + i, "feeder", "");
        thread_id t = i < 3 ? add_rank(i, 0) : builder_thread(&b, 100 + i, NULL);
        const char *usual = i < 3 ? "all_reduce@/src/a.py:5:9 > futex [blocked]"
                                  : "feed@/src/b.py:5:9 > futex [blocked]";
        const char *other = i < 3 ? "load@/src/a.py:1:2 > read /data/x [blocked]"
                                  : "rest@/src/b.py:1:2 > clock_nanosleep [blocked]";
        if (odd)
            builder_run(&b, t, other, i < 3 ? 3000 : 4000, 0);
        if (!odd || i < 3)
            builder_run(&b, t, usual, odd ? 1000 : 4000, 0);
    }
    judge(4000);
    assert_told(0, "differs",
                "rank1 differs: 75% of its time in load a.py:2, against 0% in rank0 and rank2. "
                "Meanwhile they are in all_reduce a.py:9 > futex, 100%.");
    teardown();
}
END_TEST

/* Five functions call f in each of three ranks; the odd one rests besides. */
START_TEST(callers_of_one_function_are_no_difference)
{
    without_processes();
    for (int rank = 0; rank < 3; rank++) {
        builder_process(&b, 100 + rank, "python3", "");
        thread_id t = builder_thread(&b, 100 + rank, NULL);
        int64_t rests = rank == 1 ? 800 : 0;
        for (char view = 'a'; view < 'f'; view++) {
            char stack[64];
            (void)snprintf(stack, sizeof stack, "%c@/src/v.py:1:2 > f@/src/a.py:5:9", view);
            builder_run(&b, t, stack, (4000 - rests) / 5, (4000 - rests) / 5);
        }
        builder_run(&b, t, "rest@/src/a.py:1:2 > clock_nanosleep [blocked]", rests, 0);
    }
    judge(4000);
    assert_not_told("differs");
    teardown();
}
END_TEST

CHECK_MAIN("findings_ranks", 10, callers_of_one_function_are_no_difference,
           the_workers_of_a_launcher_are_told_of, the_odd_rank_is_named,
           that_the_others_have_no_work_is_told, the_odd_ranks_own_function_is_named,
           who_serves_the_others_is_of_another_kind, who_polls_for_others_is_not_odd,
           a_rank_is_not_odd_by_samples_that_the_kernel_denies,
           an_odd_rank_comes_before_an_odd_helper, a_hypervisor_is_blamed_for_what_it_took,
           fewer_threads_are_advised_only_where_there_are_more_than_cpus)
