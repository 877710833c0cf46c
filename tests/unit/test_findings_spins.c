/* Functions of the user's that only ask again and again while they run. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

enum { PID = 10 };

/* The CPU time of four threads is on STACKS, N of them, for as long each, and so is the time for
 * which they wait for a CPU. */
static void crowd(const char *const *stacks, size_t n)
{
    b = builder_start(PID, "app");
    profile_get_host(b.p)->cpus_online = 2;
    builder_run(&b, builder_thread(&b, PID, NULL),
                "main!app > pthread_join!libc.so.6 > "
                "futex [blocked]",
                4000, 0);
    for (pid_t tid = 11; tid < 15; tid++) {
        thread_id t = builder_thread(&b, tid, "crew");
        for (size_t i = 0; i < n; i++) {
            builder_run(&b, t, stacks[i], 2000 / (int64_t)n, 2000 / (int64_t)n);
            builder_runnable(&b, t, stacks[i], 2000 / (int64_t)n);
        }
    }
    judge(4000);
}

/* Who has no CPU to spin on is found waiting for one, in the spin lock. */
START_TEST(spin_locks_without_a_cpu_are_told_before_the_wait_for_one)
{
    static const char locks[] = "publish!app > pthread_spin_lock!libc.so.6";
    b = builder_start(PID, "app");
    profile_get_host(b.p)->cpus_online = 2;
    for (pid_t tid = PID; tid < PID + 6; tid++) {
        thread_id t = builder_thread(&b, tid, tid == PID ? NULL : "producer");
        builder_run(&b, t, locks, 400, 400);
        builder_run(&b, t, "publish!app > find!app", 200, 200);
        builder_runnable(&b, t, "publish!app > pthread_spin_lock!libc.so.6 > [waiting for cpu]",
                         2400);
        builder_runnable(&b, t, "publish!app > find!app", 1000);
    }
    judge(4000);
    ck_assert(is_said("time for spin locks, in publish"));
    ck_assert(is_said("A mutex lets it sleep"));
    assert_not_told("cpu_wait");
    teardown();
}
END_TEST

START_TEST(a_loop_that_waits_is_told_where_it_runs_and_waits_for_a_cpu)
{
    static const char *const names[] = {
        "step!app > barrier_wait!app|/src/a.c:7",
        "step!app > Pool::waitUntilReady!app|/src/a.cc:7",
        "step!app > spin_lock!app|/src/a.c:7",
        "step!app > spin_until_all!app|/src/a.c:7",
        "step!app > wait_for_barrier!app|/src/a.c:7",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        crowd(&names[i], 1);
        assert_told(0, "spinning",
                    "4 crew threads spin 100% of their time in a wait for others, in ");
        assert_told(0, "spinning",
                    ", which burns 2.0 CPUs. 4 threads spin on 2 CPUs: use fewer threads. Spin "
                    "briefly, then sleep on a condition or a futex.");
        assert_not_told("cpu_wait");
        assert_not_told("computes");
        teardown();
    }
}
END_TEST

/* At one call: who gets it goes on, and calls something else. */
START_TEST(who_only_tries_is_told_for_what)
{
    static const struct {
        const char *stacks[3], *remedy; /* NULL: it does not spin */
    } cases[] = {
        {{"step!app > enter!app|/src/a.c:7 > __pthread_mutex_trylock!libc.so.6"},
         "use fewer threads. A blocking lock() or flock() wakes at once"},
        {{"step!app > reap!app|/src/a.c:7 > wait4!libc.so.6"},
         "use fewer threads. A wait without a time-out, or poll() of a pidfd_open()"},
        /* It locks and unlocks a file. */
        {{"step!app > note!app|/src/a.c:7 > flock!libc.so.6",
          "step!app > note!app|/src/a.c:8 > flock!libc.so.6"},
         NULL},
        {{"step!app > enter!app|/src/a.c:7 > __pthread_mutex_trylock!libc.so.6",
          "step!app > enter!app|/src/a.c:9 > __pthread_mutex_unlock!libc.so.6"},
         NULL},
        /* What follows is some way off. */
        {{"step!app > reap!app|/src/a.c:7 > wait4!libc.so.6",
          "step!app > reap!app|/src/a.c:7 > __wait4!libc.so.6", "step!app > reap!app|/src/a.c:70"},
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = 0;
        while (n < 3 && cases[i].stacks[n])
            n++;
        crowd(cases[i].stacks, n);
        if (cases[i].remedy)
            assert_told(0, "spinning", cases[i].remedy);
        else
            assert_not_told("spinning");
        teardown();
    }
}
END_TEST

/* Three of them spin more than the fourth one. */
START_TEST(others_that_spin_are_told_with_them)
{
    b = builder_start(PID, "app");
    profile_get_host(b.p)->cpus_online = 2;
    for (pid_t tid = 11; tid < 15; tid++) {
        int64_t ms = tid < 14 ? 3900 : 2000;
        thread_id t = builder_thread(&b, tid, "crew");
        builder_run(&b, t, "step!app > barrier_wait!app|/src/a.c:7", ms, ms);
        builder_run(&b, t, "step!app > work!app|/src/a.c:30", 4000 - ms, 4000 - ms);
    }
    judge(4000);
    assert_told(0, "spinning",
                "3 crew threads spin 98% of their time in a wait for others, in barrier_wa");
    assert_told(0, "spinning", " crew does so, too. 4 threads spin on 2 CPUs: use fewer");
    teardown();
}
END_TEST

/* Who has what they ask for is the only one that is busy meanwhile. */
START_TEST(who_is_busy_while_others_spin_is_told)
{
    b = builder_start(PID, "app");
    profile_get_host(b.p)->cpus_online = 4;
    builder_run(&b, builder_thread(&b, PID, NULL), "main!app > clock_nanosleep [blocked]", 4000, 0);
    for (pid_t tid = 11; tid < 13; tid++)
        builder_run(&b, builder_thread(&b, tid, "till"), "enter!app > barrier_wait!app|/src/a.c:7",
                    4000, 4000);
    builder_run(&b, builder_thread(&b, 13, "closer"), "close_page!app > keep!app", 4000, 4000);
    judge(4000);
    ck_assert(is_said("Meanwhile closer is 100% in close_page > keep."));
    teardown();
}
END_TEST

/* Where it was built without optimisation, too, and a look at the variable is a call. */
START_TEST(a_look_at_an_atomic_variable_is_part_of_the_loop)
{
    static const char *const stacks[] = {
        "step!app > gate_wait!app|/src/a.c:7",
        "step!app > gate_wait!app|/src/a.c:9 > std::atomic<int>::load!app|/usr/include/c++/a:400",
        "step!app > gate_wait!app|/src/a.c:9 > "
        "std::__atomic_base<int>::load!app|/usr/include/a:90"};
    static const char *const sorts[] = {
        "step!app > gate_wait!app|/src/a.c:9 > std::__introsort!app|/usr/include/c++/a:400",
        "step!app > gate_wait!app|/src/a.c:9 > std::__introsort!app|/usr/include/c++/a:90",
        "step!app > gate_wait!app|/src/a.c:9 > std::__introsort!app|/usr/include/c++/a:9"};
    crowd(stacks, sizeof stacks / sizeof *stacks);
    assert_told(0, "spinning",
                "4 crew threads spin 100% of their time in a wait for others, in gate_wait");
    teardown();
    crowd(sorts, sizeof sorts / sizeof *sorts);
    assert_not_told("spinning");
    teardown();
}
END_TEST

/* Its name says that it waits, and its body computes; or there is no such name. */
START_TEST(a_body_that_computes_does_not_spin)
{
    static const char *const waits[] = {
        "step!app > wait_for_all!app|/src/a.c:7", "step!app > wait_for_all!app|/src/a.c:90",
        "step!app > wait_for_all!app|/src/a.c:200", "step!app > wait_for_all!app|/src/a.c:310"};
    static const char *const tight[] = {"step!app > add_rows!app|/src/a.c:7",
                                        "step!app > next_block!app|/src/a.c:7",
                                        "step!app > read_clock!app|/src/a.c:7",
                                        "step!app > unlock!app|/src/a.c:7",
                                        "step!app > waitlist_sum!app|/src/a.c:7",
                                        "step!app > spin!app|/src/a.c:7",
                                        "step!app > log_barrier!app|/src/a.c:7",
                                        "step!app > price_barrier!app|/src/a.c:7",
                                        "step!app > barrier!app|/src/a.c:7",
                                        "step!app > gate_wait!app|/src/a.c:7",
                                        "step!app > spin_force!app|/src/a.c:7",
                                        "step!app > spin_only!app|/src/a.c:7",
                                        "step!app > spin_loop!app|/src/a.c:7",
                                        "step!app > has_deadlock!app|/src/a.c:7",
                                        "step!app > await!app|/src/a.c:7",
                                        "step!app > wait_form_sum!app|/src/a.c:7",
                                        "step!app > Gnss::acquire!app|/src/a.c:7",
                                        "step!app > wait_until_next_frame!app|/src/a.c:7",
                                        "step!app > find_files!app|/src/a.c:7 > stat64!libc.so.6"};
    crowd(waits, sizeof waits / sizeof *waits);
    assert_not_told("spinning");
    teardown();
    for (size_t i = 0; i < sizeof tight / sizeof *tight; i++) {
        char stacks[2][128]; /* its samples are at two instructions, some bytes apart */
        const char *const both[] = {stacks[0], stacks[1]};
        const char *line = strstr(tight[i], ":7");
        (void)snprintf(stacks[0], sizeof stacks[0], "%s", tight[i]);
        (void)snprintf(stacks[1], sizeof stacks[1], "%.*s:17%s", (int)(line - tight[i]), tight[i],
                       line + strlen(":7"));
        crowd(both, 2);
        assert_not_told("spinning");
        teardown();
    }
}
END_TEST

/* A read that waits for another CPU's write, or a pause: a computation is at several
 * instructions. */
START_TEST(who_stands_at_one_instruction_of_a_wait_spins)
{
    static const char *const stack = "step!app > barrier!app|/src/a.c:7";
    crowd(&stack, 1);
    assert_told(0, "spinning",
                "4 crew threads spin 100% of their time in a wait for others, in barrier");
    teardown();
}
END_TEST

START_TEST(the_only_thread_waits_for_nobody)
{
    b = builder_start(PID, "app");
    builder_run(&b, builder_thread(&b, PID, NULL), "step!app > spin_lock!app|/src/a.c:7", 4000,
                4000);
    judge(4000);
    assert_not_told("spinning");
    teardown();
}
END_TEST

/* A summary of many threads with few places looks at each place once. */
START_TEST(many_runs_of_one_spot_count_together)
{
    b = builder_start(PID, "app");
    for (pid_t tid = 11; tid < 75; tid++) {
        thread_id t = builder_thread(&b, tid, "crew");
        for (int i = 0; i < 200; i++) {
            builder_run(&b, t, "step!app > spin_lock!app|/src/a.c:7", 10, 10);
            builder_run(&b, t, "step!app > spin_lock!app|/src/a.c:8", 10, 10);
        }
    }
    judge(4000);
    assert_told(0, "spinning", "64 crew threads spin 100% of their time in a wait for others");
    teardown();
}
END_TEST

#define QUEUE "@/usr/lib/python3.11/queue.py:1:2"
#define ASKS  " > Future.done@/usr/lib/python3.11/concurrent/futures/_base.py:1:2"
#define LOOP  "write_log@/src/log.py:1:2"

START_TEST(a_loop_in_python_that_only_asks_is_told)
{
    static const struct {
        const char *asks, *does; /* DOES: for a fifth of the time */
        bool spins;
    } cases[] = {
        {LOOP " > Queue.empty" QUEUE, LOOP, true},
        {LOOP " > Event.is_set@/usr/lib/python3.11/threading.py:1:2", LOOP, true},
        {LOOP " > Future.done@/usr/lib/python3.11/concurrent/futures/_base.py:1:2", LOOP, true},
        {LOOP " > Queue.empty" QUEUE, LOOP " > Queue.get" QUEUE, false},
        {LOOP " > Queue.get" QUEUE, LOOP, false},
        {LOOP, LOOP " > Queue.empty" QUEUE, false},
        {LOOP " > exists@/usr/lib/python3.11/genericpath.py:1:2", LOOP, false}, /* of many files */
        {"wait_until_done@/src/log.py:1:2", LOOP, false}, /* its name says nothing */
        {"hits_barrier@/src/log.py:1:2", "hits_barrier@/src/log.py:1:3", false},
        {LOOP " > Queue.get_nowait" QUEUE, LOOP, false}, /* it may get something */
        /* Its own bytecode is elsewhere, and may be work. */
        {LOOP " > Event.is_set@/usr/lib/python3.11/threading.py:1:2", "write_log@/src/log.py:1:9",
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        b = builder_start(PID, "python3");
        thread_id lead = builder_thread(&b, PID, NULL);
        builder_run(&b, lead, cases[i].asks, 3200, 3200);
        builder_run(&b, lead, cases[i].does, 800, 800);
        builder_run(&b, builder_thread(&b, PID + 1, "reader"), "read [blocked]", 4000, 0);
        judge(4000);
        ck_assert_msg(is_said("for others, in ") == cases[i].spins, "%zu: %s", i,
                      found.printed[0]->words);
        if (i == 0)
            assert_told(
                0, "spinning",
                "main spins 100% of its time in a wait for others, in write_log log.py:2, which "
                "burns 1.0 CPU. A blocking get(), join(), result() or Event.wait() wakes at once.");
        teardown();
    }
}
END_TEST

/* A function that asks once and returns, or calls one that works, is left again and again. */
START_TEST(a_question_in_a_loop_that_works_is_no_spin)
{
    static const char *const stacks[][2] = {
        {"work@/src/a.py:1:2", "work@/src/a.py:1:2 > may_go@/src/a.py:4:5" ASKS},
        {"work@/src/a.py:1:2 > step@/src/a.py:7:8", "work@/src/a.py:1:2" ASKS},
        {"work!app|/src/a.c:2",
         "work!app|/src/a.c:2 > enter!app|/src/a.c:7 > pthread_mutex_trylock!libc.so.6"},
    };
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        b = builder_start(PID, "app");
        thread_id lead = builder_thread(&b, PID, NULL);
        for (int k = 0; k < 200; k++) {
            builder_run(&b, lead, stacks[i][0], 10, 10);
            builder_run(&b, lead, stacks[i][1], 10, 10);
        }
        builder_run(&b, builder_thread(&b, PID + 1, "reader"), "read [blocked]", 4000, 0);
        judge(4000);
        assert_not_told("spinning");
        teardown();
    }
}
END_TEST

/* The remedy fits the question. */
START_TEST(the_only_thread_in_python_can_only_wait_for_a_child)
{
    static const char *const stacks[] = {LOOP " > Queue.empty" QUEUE, "hits_barrier@/src/a.py:1:2",
                                         LOOP
                                         " > Popen.poll@/usr/lib/python3.11/subprocess.py:1:2"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        b = builder_start(PID, "python3");
        builder_run(&b, builder_thread(&b, PID, NULL), stacks[i], 4000, 4000);
        judge(4000);
        ck_assert(is_said("for others, in ") == (i == 2));
        if (i == 2)
            assert_told(0, "spinning",
                        "A wait without a time-out, or poll() of a pidfd_open(), wakes");
        teardown();
    }
}
END_TEST

CHECK_MAIN("findings_spins", 20, spin_locks_without_a_cpu_are_told_before_the_wait_for_one,
           a_loop_that_waits_is_told_where_it_runs_and_waits_for_a_cpu,
           others_that_spin_are_told_with_them, who_is_busy_while_others_spin_is_told,
           a_look_at_an_atomic_variable_is_part_of_the_loop, a_body_that_computes_does_not_spin,
           who_stands_at_one_instruction_of_a_wait_spins, who_only_tries_is_told_for_what,
           many_runs_of_one_spot_count_together, a_question_in_a_loop_that_works_is_no_spin,
           the_only_thread_in_python_can_only_wait_for_a_child, the_only_thread_waits_for_nobody,
           a_loop_in_python_that_only_asks_is_told)
