/* Threads that wait for a condition whenever another one is in some function. */
#include <stdio.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

enum { PID = 10, GUESTS = 4, ROUNDS = 8 };
#define SERVE "serve@/src/a.py:1:2 > "
#define WAITS                                                                                      \
    SERVE "take@/src/a.py:8:9 > Queue.get@/usr/lib/python3.11/queue.py:1:2 > "                     \
          "Condition.wait@/usr/lib/python3.11/threading.py:1:2 > sem_wait!libc.so.6 > "            \
          "futex [blocked]"
#define COUNTS SERVE "count@/src/a.py:12:13"
#define WASHES "clean@/src/a.py:20:21 > wash@/src/a.py:30:31 > recvfrom 10.0.0.7:5432 [blocked]"
#define PAUSES "clean@/src/a.py:20:22 > clock_nanosleep [blocked]"

/* In each of N rounds the cleaner washes for 300 ms and pauses for 200 ms; the guests wait for
 * as long, LATE_MS later, and count meanwhile. */
static void add_rounds(int n, int late_ms)
{
    b = builder_start(PID, "app");
    thread_id cleaner = builder_thread(&b, PID, NULL);
    for (int k = 0; k < n; k++) {
        builder_run(&b, cleaner, WASHES, 300, 0);
        builder_run(&b, cleaner, PAUSES, 200, 0);
    }
    for (int i = 0; i < GUESTS; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "guest-%d", i);
        thread_id guest = builder_thread(&b, PID + 1 + i, name);
        if (late_ms)
            builder_run(&b, guest, COUNTS, late_ms, late_ms);
        for (int k = 0; k < n; k++) {
            builder_run(&b, guest, WAITS, 300, 0);
            int counts_ms = k + 1 < n ? 200 : 200 - late_ms;
            builder_run(&b, guest, COUNTS, counts_ms, counts_ms);
        }
    }
    judge((int64_t)n * 500);
}

START_TEST(who_waits_whenever_it_washes_is_told)
{
    add_rounds(ROUNDS, 0);
    assert_told(0, "waits",
                "main waits 60% of its time in wash a.py:31 > recvfrom 10.0.0.7:5432. "
                "Meanwhile, and hardly at other times, 4 guest threads wait in take a.py:9, 60% of "
                "their time: main has, or makes, what they need.");
    teardown();
}
END_TEST

START_TEST(a_wait_that_is_a_little_late_counts)
{
    add_rounds(ROUNDS, 20);
    ck_assert(is_said("Meanwhile, and hardly at other times"));
    teardown();
}
END_TEST

START_TEST(chance_and_two_times_tell_nothing)
{
    add_rounds(ROUNDS, 150);
    ck_assert(!is_said("hardly at other times"));
    teardown();
    add_rounds(2, 0);
    ck_assert(!is_said("hardly at other times"));
    teardown();
}
END_TEST

/* Main trains, in one function or in two, while the reader waits for room in their queue, and waits
 * while that fetches.  Not TURNS: main sleeps then. */
static void add_turns(bool turns, bool two)
{
    b = builder_start(PID, "app");
    thread_id trainer = builder_thread(&b, PID, NULL);
    thread_id reader = builder_thread(&b, PID + 1, "reader");
    for (int k = 0; k < ROUNDS; k++) {
        builder_run(&b, trainer, "train@/src/a.py:1:2 > step!libk.so", two ? 150 : 300,
                    two ? 150 : 300);
        if (two)
            builder_run(&b, trainer, "score@/src/a.py:50:51 > sum!libk.so", 150, 150);
        builder_run(&b, trainer, turns ? WAITS : PAUSES, 200, 0);
        builder_run(&b, reader, WAITS, 300, 0);
        builder_run(&b, reader, WASHES, 200, 0);
    }
    judge((int64_t)ROUNDS * 500);
}

START_TEST(who_waits_for_each_other_in_turn_is_told)
{
    for (int turns = 0; turns <= 1; turns++) {
        add_turns(turns, false);
        ck_assert(is_said("Meanwhile, and hardly at other times, reader waits in take a.py:9, 60% "
                          "of its time: main"));
        ck_assert_int_eq(is_said("main and reader take turns. A longer queue, or work asked for "
                                 "ahead, lets both work at the same time."),
                         turns);
        ck_assert_int_eq(is_said("main has, or makes, what it needs."), !turns);
        teardown();
        add_turns(turns, true);
        ck_assert_int_eq(is_said("reader waits 60% of its time in take a.py:9: main and reader "
                                 "take turns."),
                         turns);
        teardown();
    }
}
END_TEST

/* The reader begins late, and the feeder waits all the time, also while the reader does. */
START_TEST(who_lives_for_part_of_the_time_takes_no_turns)
{
    enum { LATE_MS = 4000, MS = 10000 };
    b = builder_start(PID, "app");
    builder_run(&b, builder_thread(&b, PID, NULL), "sleep!app > clock_nanosleep [blocked]", MS, 0);
    builder_run(&b, builder_thread(&b, PID + 2, "feeder"), WAITS, MS, 0);
    thread_id reader = builder_thread(&b, PID + 1, "reader");
    profile_get_thread(b.p, reader)->start_ns = LATE_MS * (int64_t)NS_PER_MS;
    for (int ms = LATE_MS; ms < MS; ms += 600) {
        builder_run(&b, reader, WAITS, 300, 0);
        builder_run(&b, reader, COUNTS, 300, 300);
    }
    judge(MS);
    ck_assert(!is_said("take turns"));
    teardown();
}
END_TEST

CHECK_MAIN("findings_lockstep", 20, who_waits_whenever_it_washes_is_told,
           a_wait_that_is_a_little_late_counts, chance_and_two_times_tell_nothing,
           who_waits_for_each_other_in_turn_is_told, who_lives_for_part_of_the_time_takes_no_turns)
