/* Threads that ask again and again, and sleep between. */
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

enum { PID = 10 };

static thread_id lead;

/* Main sleeps SLEEPS times in 3.9 of 4 s in the stack SLEEP, and is for 100 ms in ASKS, NULL: in
 * nothing that is seen. */
static void setup(const char *sleep, uint64_t sleeps, const char *asks)
{
    b = builder_start(PID, "app");
    lead = builder_thread(&b, PID, NULL);
    builder_run(&b, lead, sleep, 3900, 0);
    struct profile_thread *t = profile_get_thread(b.p, lead);
    t->runs[0].waits = (uint32_t)sleeps;
    t->usage = (struct profile_usage){.over_ns = 4000L * NS_PER_MS, .voluntary = sleeps};
    builder_run(&b, lead, asks ? asks : sleep, 100, asks ? 100 : 0);
}

static void assert_polls(const char *sleep, uint64_t sleeps, const char *asks, const char *words)
{
    setup(sleep, sleeps, asks);
    judge(4000);
    if (words)
        assert_told(0, "polls", words);
    else
        assert_not_told("polls");
    teardown();
}

#define SLEEP " > clock_nanosleep [blocked]"

START_TEST(who_asks_again_and_again_is_told_for_what)
{
    static const struct {
        const char *sleep, *asks, *words;
    } cases[] = {
        {"hook@/src/a.py:1:2 > Popen._wait@/usr/lib/python3.11/subprocess.py:1:2" SLEEP, NULL,
         "main polls 100% of its time for the end of a child, in hook a.py:2 > Popen._wait > "
         "clock_nanosleep: it sleeps 10 times a second, 100 ms each. A wait without a time-out, "
         "or poll() of a pidfd_open(), wakes at once."},
        {"reap!app > usleep!libc.so.6" SLEEP, "reap!app > __waitpid!libc.so.6",
         "main polls 98% of its time for the end of a child, in reap > "},
        {"load@/src/a.py:1:2" SLEEP,
         "load@/src/a.py:1:3 > exists@/usr/lib/python3.11/genericpath.py:1:2 > stat64!libc.so.6",
         "main polls 98% of its time for a file, in load a.py:2 > "},
        {"load!app" SLEEP, "load!app > std::filesystem::exists!app > stat!libc.so.6",
         "main polls 98% of its time for a file, in load > "},
        {"enter!app" SLEEP, "enter!app > pthread_mutex_trylock!libc.so.6",
         "main polls 98% of its time for a lock, in enter > "},
        /* By a function that only sleeps. */
        {"enter!app > rest!app" SLEEP, "enter!app > take!app > flock!libc.so.6",
         "main polls 98% of its time for a lock, in enter > rest > "},
        {"enter!app > rest!app" SLEEP, "enter!app > flock!libc.so.6",
         "main polls 98% of its time for a lock, in enter > rest > "},
        {"FileLock::acquireLock!app" SLEEP, NULL,
         "main polls 100% of its time for a lock, in FileLock::acquireLock > clock_nanosleep: it "},
        {"FileLock.acquire@/src/a.py:1:2" SLEEP, NULL,
         "main polls 100% of its time for a lock, in "},
        {"reap!app > poll sleep [blocked]", "reap!app > __waitpid!libc.so.6",
         "main polls 98% of its time for the end of a child, in reap > "},
        {"wait_for_baton@/src/a.py:1:2" SLEEP, NULL,
         "main polls 100% of its time in wait_for_baton a.py:2 > clock_nanosleep: it sleeps 10 "
         "times a second, 100 ms each. A call that blocks wakes at once: flock() for a lock file, "
         "poll() of a pidfd_open() for a process, a condition for a thread. wallspy dump --locals "
         "-p 10 shows its arguments."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_polls(cases[i].sleep, 40, cases[i].asks, cases[i].words);
}
END_TEST

/* It works between, looks once a second, only rests, sleeps once, or its names mean no lock. */
START_TEST(who_has_something_to_do_or_to_look_after_does_not_poll)
{
    static const char wait[] = "wait_for_baton@/src/a.py:1:2" SLEEP;
    assert_polls("step!app" SLEEP, 40, "step!app > work!app", NULL);
    assert_polls(wait, 4, NULL, NULL);
    assert_polls(wait, 3, NULL, NULL);
    assert_polls("rest@/src/a.py:1:2" SLEEP, 40, NULL, NULL);
    assert_polls("Timer::wait!app" SLEEP, 40, NULL, NULL);
    assert_polls("RateLimiter.acquire@/src/a.py:1:2" SLEEP, 40, NULL, NULL);
    assert_polls("clock_of_blocks!app" SLEEP, 40, NULL, NULL);
    assert_polls("find_deadlock!app" SLEEP, 40, NULL, NULL);
    assert_polls("play!app > wait_until_next_frame!app" SLEEP, 40, NULL, NULL);
    assert_polls("Loop::waitForTick!app" SLEEP, 40, NULL, NULL);
}
END_TEST

/* A loop that controls something waits for its turn, whatever it calls that. */
START_TEST(who_works_between_named_waits_does_not_poll)
{
    setup("run!app > wait_for_input!app" SLEEP, 240, NULL);
    builder_run(&b, lead, "run!app > steer!app", 2600, 2600);
    judge(6600);
    assert_not_told("polls");
    ck_assert_ptr_null(strstr(found.printed[0]->words, "polls"));
    teardown();
}
END_TEST

/* A library asks for a file of its own, as SQLite for its journal; the user's code does in libc. */
START_TEST(what_a_library_asks_for_is_not_polled_for)
{
    assert_polls("main@/src/a.py:1:2" SLEEP, 400,
                 "main@/src/a.py:1:3 > note@/src/a.py:5:6 > sqlite3_step!libsqlite3.so.0 > "
                 "__fstatat64!libc.so.6",
                 NULL);
    assert_polls("wait_turn!app" SLEEP, 400, "wait_turn!app > __fstatat64!libc.so.6",
                 "main polls 98% of its time for a file, in wait_turn");
}
END_TEST

/* A bar that shows how far another thread's file is looks at it, and draws. */
START_TEST(a_question_now_and_then_is_no_poll)
{
    static const char ask[] = "bar@/src/a.py:1:2 > getsize@/usr/lib/python3.11/genericpath.py:1:2";
    for (int few = 0; few < 2; few++) {
        setup("bar@/src/a.py:1:2" SLEEP, 40, "bar@/src/a.py:1:3");
        builder_run(&b, lead, ask, few ? 20 : 50, few ? 20 : 50);
        profile_get_thread(b.p, lead)->runs[1].weights.wall_ns -= few ? 100 * NS_PER_MS : 0;
        builder_run(&b, builder_thread(&b, 11, "loader"), "load!app", 4000, 4000);
        judge(4050);
        assert_not_told("polls");
        teardown();
    }
}
END_TEST

START_TEST(who_works_meanwhile_is_named)
{
    setup("wait_for_baton@/src/a.py:1:2" SLEEP, 40, NULL);
    builder_run(&b, builder_thread(&b, 11, "worker"), "build!app", 4000, 4000);
    judge(4000);
    assert_told(0, "polls", "100 ms each. Meanwhile worker is 100% in build. A call that blocks");
    teardown();
    setup("wait_for_baton@/src/a.py:1:2" SLEEP, 40, NULL); /* it may look after both */
    builder_run(&b, builder_thread(&b, 11, "worker"), "build!app", 4000, 4000);
    builder_run(&b, builder_thread(&b, 12, "other"), "draw!app", 4000, 4000);
    judge(4000);
    assert_not_told("polls");
    teardown();
}
END_TEST

/* It is blocked in its wait: it does not just ask. */
START_TEST(who_waits_for_its_child_between_sleeps_does_not_poll)
{
    setup("step!app" SLEEP, 40, NULL);
    builder_run(&b, lead, "step!app > wait4!libc.so.6 > wait4 [blocked]", 600, 0);
    judge(4600);
    assert_not_told("polls");
    teardown();
}
END_TEST

/* Of 4 s: a wait for one long-lived child is late once. */
START_TEST(who_has_one_child_after_the_other_is_late)
{
    for (int n = 1; n <= 8; n += 7) {
        setup("hook@/src/a.py:1:2 > Popen._wait@/usr/lib/python3.11/subprocess.py:1:2" SLEEP, 40,
              NULL);
        process_id parent = profile_see_thread(b.p, lead)->process;
        profile_get_process(b.p, parent)->children_known = true;
        for (int i = 0; i < n; i++) {
            builder_process(&b, 20 + i, "sleep", NULL);
            thread_id child = builder_thread(&b, 20 + i, NULL);
            profile_get_process(b.p, profile_see_thread(b.p, child)->process)->parent = parent;
            builder_run(&b, child, "main!sleep" SLEEP, 400, 0);
        }
        judge(4000);
        if (n > 1)
            assert_told(0, "polls", "100 ms each. Its children: 8 sleep processes. A wait");
        else
            assert_not_told("polls");
        teardown();
    }
}
END_TEST

/* The plain fact has it, too: its child takes its time. */
START_TEST(who_waits_for_one_child_is_told_for_which)
{
    setup("hook@/src/a.py:1:2 > Popen._wait@/usr/lib/python3.11/subprocess.py:1:2" SLEEP, 80,
          "hook@/src/a.py:1:2");
    struct profile_child child = {.pid = 20, .comm = profile_string(b.p, "sort")};
    profile_set_children(b.p, b.process, &child, 1);
    profile_get_process(b.p, b.process)->children_seen = 1;
    profile_get_process(b.p, b.process)->children_known = true;
    judge(4000);
    assert_told(0, "waits",
                "main sleeps 98% of its time in hook a.py:2 > Popen._wait > clock_nanosleep. It "
                "polls there for the end of its child 20 (sort), and sleeps 20 times a second, 49 "
                "ms each.");
    teardown();
}
END_TEST

/* Another thread lives on: of the recording this one is a third only. */
START_TEST(sleeps_are_counted_by_the_second_of_the_life_of_who_sleeps)
{
    setup("hook!app > usleep!libc.so.6" SLEEP, 40, "hook!app > __waitpid!libc.so.6");
    profile_end_thread(b.p, lead, INT64_C(4000) * NS_PER_MS);
    builder_run(&b, builder_thread(&b, PID + 1, "other"), "read!app > read socket [blocked]", 12000,
                0);
    judge(12000);
    assert_told(0, "polls", "it sleeps 10 times a second, 98 ms each.");
    teardown();
}
END_TEST

CHECK_MAIN("findings_polls", 20, sleeps_are_counted_by_the_second_of_the_life_of_who_sleeps,
           who_asks_again_and_again_is_told_for_what,
           who_has_something_to_do_or_to_look_after_does_not_poll, who_works_meanwhile_is_named,
           who_waits_for_its_child_between_sleeps_does_not_poll,
           who_waits_for_one_child_is_told_for_which, who_works_between_named_waits_does_not_poll,
           a_question_now_and_then_is_no_poll, who_has_one_child_after_the_other_is_late,
           what_a_library_asks_for_is_not_polled_for)
