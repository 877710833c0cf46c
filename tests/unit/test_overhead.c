#include "sampler/overhead.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "sampler/state.h"
#include "tests/support/check_main.h"

enum { ASKED_HZ = 100 };
static const int64_t asked_ns = NS_PER_S / ASKED_HZ;
static const int64_t slot_ns = 250 * (int64_t)NS_PER_MS;

static struct sampler sampler;
static struct process process;
static struct thread busy, idle;

static void set_up(double max_held, double max_cpus)
{
    static struct thread *threads[] = {&busy, &idle};
    memset(&sampler, 0, sizeof sampler);
    busy = idle = (struct thread){0};
    process = (struct process){.threads = threads, .n_threads = 2};
    sampler.config =
        (struct sampler_config){.rate_hz = ASKED_HZ, .max_held = max_held, .max_cpus = max_cpus};
    sampler.processes[0] = &process;
    sampler.n_processes = 1;
    sampler.interval_ns = asked_ns;
}

/* A quarter of a second in which one thread was held for HELD_NS, in holds of 50 µs or in one. */
static void pass_with(uint32_t held_ns, bool one)
{
    enum { HOLD_NS = 50000 };
    for (uint32_t ns = 0; ns < held_ns; ns += one ? held_ns : HOLD_NS)
        overhead_add(&busy, one ? held_ns : HOLD_NS);
    sampler.overhead_checked_ns = clock_now_ns() - slot_ns;
    overhead_keep(&sampler);
}

static void pass(uint32_t held_ns)
{
    pass_with(held_ns, false);
}

static uint64_t count(enum sampler_counter which)
{
    return counters_get(&sampler.counters, which);
}

START_TEST(the_rate_is_lowered_by_as_much_as_it_was_too_much)
{
    set_up(0.005, 0);
    pass(10 * NS_PER_MS); /* of a second at least: 1 % */
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED), 1);
    ck_assert_int_eq(sampler.interval_ns / 1000, 2 * asked_ns / 1000);
    ck_assert_double_eq_tol(sampler_worst_lost(&sampler), 0.002, 1e-4);
    ck_assert_double_eq_tol(sampler_rate_hz(&sampler), ASKED_HZ / 2.0, 0.01);
}
END_TEST

START_TEST(what_is_past_counts_at_the_present_rate)
{
    set_up(0.005, 0);
    pass(10 * NS_PER_MS);
    pass(0);
    pass(0);
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED), 1);
    ck_assert_int_eq(sampler.interval_ns / 1000, 2 * asked_ns / 1000);
}
END_TEST

START_TEST(five_seconds_are_looked_at)
{
    set_up(0.005, 0);
    for (int i = 0; i < HELD_SLOTS; i++)
        pass(0);
    for (int i = 0; i < 3 * HELD_SLOTS; i++)
        pass(i % HELD_SLOTS ? 0 : 24 * NS_PER_MS); /* once in five seconds: 0.48 % */
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED), 0);
    ck_assert_double_eq_tol(sampler_worst_lost(&sampler), 0.0048, 1e-4);
    pass(24 * NS_PER_MS);
    pass(24 * NS_PER_MS);
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED), 1);
}
END_TEST

START_TEST(holds_are_told_by_octaves)
{
    static const uint64_t holds_ns[] = {0, 999, 1000, 1999, 40000, UINT64_MAX};
    static const int octaves[] = {0, 0, 1, 1, 6, HOLD_OCTAVES - 1};
    struct sampler_counters c = {0};
    uint64_t all = 0;
    for (size_t i = 0; i < sizeof holds_ns / sizeof *holds_ns; i++) {
        uint64_t before = counters_holds_in(&c, octaves[i]);
        counters_add_hold(&c, holds_ns[i]);
        ck_assert_uint_eq(counters_holds_in(&c, octaves[i]), before + 1);
    }
    for (int i = 0; i < HOLD_OCTAVES; i++)
        all += counters_holds_in(&c, i);
    ck_assert_uint_eq(all, sizeof holds_ns / sizeof *holds_ns);
}
END_TEST

START_TEST(one_late_hold_counts_once)
{
    set_up(0.005, 0);
    pass_with(27 * NS_PER_MS, true); /* of five seconds: 0.54 % */
    ck_assert_int_gt(sampler.interval_ns, asked_ns);
    ck_assert_int_lt(sampler.interval_ns, asked_ns * 11 / 10);
}
END_TEST

START_TEST(with_room_it_is_raised_to_what_was_asked)
{
    set_up(0.005, 0);
    pass(20 * NS_PER_MS);
    int64_t lowered_ns = sampler.interval_ns;
    for (int i = 0; i < 3 * HELD_SLOTS; i++)
        pass(0);
    ck_assert_int_lt(sampler.interval_ns, lowered_ns / 2);
    for (int i = 0; i < 5 * HELD_SLOTS; i++)
        pass(0);
    ck_assert_int_eq(sampler.interval_ns, asked_ns);
}
END_TEST

START_TEST(a_stop_of_wallspy_is_no_room)
{
    set_up(0.005, 0);
    pass(25 * NS_PER_MS);
    int64_t lowered_ns = sampler.interval_ns;
    sampler.overhead_checked_ns -= 600 * (int64_t)NS_PER_S;
    overhead_keep(&sampler);
    ck_assert_int_eq(sampler.interval_ns, lowered_ns);
}
END_TEST

START_TEST(its_own_quota_counts_too)
{
    volatile uint64_t sink = 0;
    set_up(0.5, 1e-6);
    for (int i = 0; i < 1000000; i++)
        sink += (uint64_t)i;
    pass(0);
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED), 1);
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED_FOR_QUOTA), 1);
    ck_assert_int_gt(sampler.interval_ns, asked_ns);
}
END_TEST

/* ---- how long a hold was ---- */

enum { OWN_NS = 30000, LATE_NS = 2000000, STOPS_WITHIN_NS = 10000 };

/* The hold of a thread that was asked with RUNS_ASKED, and has RUNS_NOW and ran RAN_NS since then.
 * wallspy heard of the stop LATE_NS after the request, and let it go after OWN_NS. */
static uint32_t late_hold(uint64_t runs_asked, uint64_t runs_now, uint64_t ran_ns, bool in_call)
{
    const struct schedstat now = {.run_ns = 1000 + ran_ns, .runs = runs_now};
    const struct hold hold = {.ns = OWN_NS, .most_ns = LATE_NS};
    busy.asked.sched = (struct schedstat){.run_ns = 1000, .runs = runs_asked};
    busy.stopped_in_call = in_call;
    return overhead_held_ns(&busy, &now, clock_now_ns(), &hold, false);
}

START_TEST(a_hold_counts_from_the_stop)
{
    set_up(0.005, 0);
    busy.fds[FILE_STATUS] = -1;
    /* On its CPU all the time, in code of its own: it stopped at once. */
    ck_assert_uint_eq(late_hold(7, 7, 0, false), LATE_NS - STOPS_WITHIN_NS);
    ck_assert_uint_eq(late_hold(7, 7, 1500000, false), LATE_NS - STOPS_WITHIN_NS);
    /* A call may have run on. */
    ck_assert_uint_eq(late_hold(7, 7, 1500000, true), LATE_NS - 1500000);
    ck_assert_uint_eq(late_hold(7, 7, 2500000, true), OWN_NS);
    /* It left its CPU meanwhile: for how long it ran on is not known. */
    ck_assert_uint_eq(late_hold(7, 8, 0, false), OWN_NS);
}
END_TEST

START_TEST(a_stop_that_is_heard_at_once_is_timed_by_the_own_clock)
{
    const struct schedstat now = {.runs = 7};
    const struct hold hold = {.ns = OWN_NS, .most_ns = OWN_NS + 90000};
    set_up(0.005, 0);
    busy.fds[FILE_STATUS] = -1;
    busy.asked.sched = now;
    ck_assert_uint_eq(overhead_held_ns(&busy, &now, clock_now_ns(), &hold, false), OWN_NS);
}
END_TEST

/* Is a stop heard at once before which wallspy was deaf for DEAF_NS, and had no CPU for WAIT_NS? */
static bool is_heard(uint32_t deaf_ns, uint64_t wait_ns)
{
    static uint64_t all_ns;
    const struct hold hold = {.ns = OWN_NS, .most_ns = LATE_NS, .deaf_ns = deaf_ns};
    char text[64];
    all_ns += wait_ns;
    int len = snprintf(text, sizeof text, "1 %llu 3\n", (unsigned long long)all_ns);
    ck_assert_int_eq(pwrite(sampler.own_fd, text, (size_t)len, 0), len);
    return overhead_heard_at_once(&sampler, &hold);
}

START_TEST(wallspys_own_counts_tell_whether_it_heard_of_a_stop_at_once)
{
    const struct schedstat now = {.runs = 8};
    const struct hold hold = {.ns = OWN_NS, .most_ns = LATE_NS};
    set_up(0.005, 0);
    sampler.can.schedstat = true;
    sampler.own_fd = memfd_create("schedstat", MFD_CLOEXEC);
    ck_assert(is_heard(0, 50000));
    ck_assert(is_heard(40000, 60000));
    ck_assert(!is_heard(100001, 0));
    ck_assert(!is_heard(0, 100001));
    ck_assert_msg(is_heard(0, 0), "what it waited before is over");
    (void)close(sampler.own_fd);
    sampler.own_fd = -1;
    ck_assert(!overhead_heard_at_once(&sampler, &hold));
    /* Then the request, which was long before, says nothing. */
    busy.fds[FILE_STATUS] = -1;
    ck_assert_uint_eq(overhead_held_ns(&busy, &now, clock_now_ns(), &hold, true), OWN_NS);
    ck_assert_int_eq(busy.watched_until_ns, 0);
    ck_assert_uint_eq(overhead_held_ns(&busy, &now, clock_now_ns(), &hold, false), OWN_NS);
    ck_assert_int_ne(busy.watched_until_ns, 0);
}
END_TEST

/* The thread's status file, with so many voluntary switches. */
static void set_voluntary(unsigned n)
{
    char text[256];
    int len = snprintf(text, sizeof text,
                       "Name:\tx\nState:\tR (running)\nTgid:\t1\nTracerPid:\t0\n"
                       "Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"
                       "voluntary_ctxt_switches:\t%u\nnonvoluntary_ctxt_switches:\t0\n",
                       n);
    ck_assert_int_eq(pwrite(busy.fds[FILE_STATUS], text, (size_t)len, 0), len);
}

/* Where the run count has moved: from one release to the next the stop was the only sleep. */
START_TEST(between_two_releases_the_counts_tell)
{
    static const struct hold hold = {.ns = OWN_NS, .most_ns = LATE_NS};
    const int64_t first_ns = clock_now_ns();
    struct schedstat now = {.run_ns = 1000, .wait_ns = 1000, .runs = 3};
    set_up(0.005, 0);
    busy.asked.sched.runs = 100;
    busy.fds[FILE_STATUS] = memfd_create("status", MFD_CLOEXEC);
    set_voluntary(5);
    ck_assert_uint_eq(overhead_held_ns(&busy, &now, first_ns, &hold, false), OWN_NS);
    set_voluntary(6);
    now = (struct schedstat){.run_ns = 5001000, .wait_ns = 4001000, .runs = 5};
    ck_assert_uint_eq(overhead_held_ns(&busy, &now, first_ns + 10000000, &hold, false), 1000000);
    set_voluntary(8); /* it slept once more */
    now.runs = 8;
    ck_assert_uint_eq(overhead_held_ns(&busy, &now, first_ns + 20000000, &hold, false), OWN_NS);
    (void)close(busy.fds[FILE_STATUS]);
}
END_TEST

/* ---- what it costs ---- */

/* A slot in which the busy thread ran and waited for a CPU for so long. */
static void pass_on_cpu(uint64_t run_ms, uint64_t wait_ms, uint32_t held_ns)
{
    busy.registered = idle.registered = true;
    busy.sched.run_ns += run_ms * NS_PER_MS;
    busy.sched.wait_ns += wait_ms * NS_PER_MS;
    busy.sched.runs++;
    pass(held_ns);
}

START_TEST(where_others_have_the_cpu_a_hold_costs_less)
{
    set_up(0.005, 0);
    busy.sched =
        (struct schedstat){.run_ns = NS_PER_S, .wait_ns = 3 * (uint64_t)NS_PER_S, .runs = 1};
    pass(10 * NS_PER_MS); /* a quarter of it: 0.25 % of a second */
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED), 0);
    ck_assert_uint_eq(busy.held_ns, 10 * NS_PER_MS);
    ck_assert_uint_eq(busy.lost_ns, 10 * NS_PER_MS / 4);
    ck_assert_double_eq_tol(sampler_worst_lost(&sampler), 0.0005, 1e-5);
    ck_assert_double_eq_tol(sampler_worst_held(&sampler), 0.002, 1e-4);
    for (int i = 0; i < 5 * HELD_SLOTS; i++) /* the others have gone */
        pass_on_cpu(250, 0, 0);
    uint64_t before_ns = busy.lost_ns;
    pass_on_cpu(250, 0, 10 * NS_PER_MS);
    ck_assert_uint_gt(busy.lost_ns - before_ns, 99 * NS_PER_MS / 10);
}
END_TEST

/* Others of the program may wait for it: a fifth of its holds counts at least. */
START_TEST(a_threads_own_delay_is_bounded)
{
    set_up(0.005, 0);
    busy.sched =
        (struct schedstat){.run_ns = NS_PER_S, .wait_ns = 99 * (uint64_t)NS_PER_S, .runs = 1};
    pass(120 * NS_PER_MS); /* 2.4 % of five seconds, and a hundredth of that is lost */
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED), 0);
    pass(20 * NS_PER_MS);
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED), 1);
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED_FOR_CPU), 0);
}
END_TEST

static void spend_cpu(void)
{
    int64_t end_ns = clock_cpu_ns() + 20 * NS_PER_MS;
    while (clock_cpu_ns() < end_ns)
        ;
}

/* A thousandth of a thread's time is a hundredth of one CPU: 10 ms of a second. */
START_TEST(cpu_time_that_threads_wait_for_is_bounded)
{
    set_up(0.001, 0);
    pass_on_cpu(0, 0, 0);
    pass_on_cpu(0, 0, 0);
    spend_cpu();
    pass_on_cpu(250, 5, 0); /* they waited for half of what counts */
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED), 0);
    spend_cpu();
    pass_on_cpu(250, 250, 0);
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED), 1);
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED_FOR_CPU), 1);
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED_FOR_QUOTA), 0);
}
END_TEST

/* Of threads that it meets: they are registered once. */
START_TEST(what_registering_costs_does_not_count)
{
    static struct thread many[20];
    static struct thread *threads[20];
    set_up(0.001, 0);
    memset(many, 0, sizeof many);
    for (size_t i = 0; i < 20; i++)
        threads[i] = &many[i];
    process.threads = threads;
    process.n_threads = 20;
    many[0].sched.runs = 1;
    for (int i = 0; i < 3; i++) {
        spend_cpu();
        many[0].sched.wait_ns += NS_PER_S;
        pass(0);
    }
    ck_assert_uint_eq(count(COUNT_RATE_LOWERED), 0);
}
END_TEST

CHECK_MAIN("overhead", 20, the_rate_is_lowered_by_as_much_as_it_was_too_much,
           what_is_past_counts_at_the_present_rate, five_seconds_are_looked_at,
           one_late_hold_counts_once, holds_are_told_by_octaves,
           with_room_it_is_raised_to_what_was_asked, a_stop_of_wallspy_is_no_room,
           its_own_quota_counts_too, a_hold_counts_from_the_stop,
           a_stop_that_is_heard_at_once_is_timed_by_the_own_clock,
           wallspys_own_counts_tell_whether_it_heard_of_a_stop_at_once,
           between_two_releases_the_counts_tell, where_others_have_the_cpu_a_hold_costs_less,
           a_threads_own_delay_is_bounded, cpu_time_that_threads_wait_for_is_bounded,
           what_registering_costs_does_not_count)
