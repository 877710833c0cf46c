#include <string.h>

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
    ck_assert_double_eq_tol(sampler_worst_share(&sampler), 0.002, 1e-4);
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
    ck_assert_double_eq_tol(sampler_worst_share(&sampler), 0.0048, 1e-4);
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

CHECK_MAIN("overhead", 20, the_rate_is_lowered_by_as_much_as_it_was_too_much,
           what_is_past_counts_at_the_present_rate, five_seconds_are_looked_at,
           one_late_hold_counts_once, holds_are_told_by_octaves,
           with_room_it_is_raised_to_what_was_asked, a_stop_of_wallspy_is_no_room,
           its_own_quota_counts_too)
