#include "sampler/slices.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/check_main.h"

enum { SLEEPERS = 1003, TICKS = 8, BLOCKS = 4000, SEED = 20261126 };

static uint32_t tick_of[SLEEPERS]; /* of the present block */

/* Runs a block; each place is in one slice, and all slices are as large, but for one place. */
static void run_block(struct slices *s, size_t n, uint32_t ticks)
{
    size_t all = 0;
    slices_begin(s, n, ticks);
    for (size_t i = 0; i < n; i++)
        tick_of[i] = UINT32_MAX;
    for (uint32_t tick = 0; tick < ticks; tick++) {
        ck_assert(!slices_are_over(s) || !n);
        struct slice slice = slices_next(s);
        ck_assert_uint_ge(slice.n, n / ticks);
        ck_assert_uint_le(slice.n, n / ticks + 1);
        bool good = true; /* an assertion takes 1 µs, and there are millions */
        for (size_t i = 0; i < slice.n && good; i++) {
            good = slice.places[i] < n && tick_of[slice.places[i]] == UINT32_MAX;
            tick_of[good ? slice.places[i] : 0] = tick;
        }
        ck_assert(good);
        all += slice.n;
    }
    ck_assert_uint_eq(all, n);
    ck_assert(slices_are_over(s));
    ck_assert_uint_eq(slices_next(s).n, 0);
}

START_TEST(each_is_looked_at_once_in_a_block)
{
    struct slices s = {.random = SEED};
    for (size_t n = 0; n < SLEEPERS; n = n * 2 + 1)
        for (uint32_t ticks = 1; ticks <= 64; ticks *= 2)
            run_block(&s, n, ticks);
    slices_release(&s);
}
END_TEST

/* How far COUNTS lie from equal ones, in standard deviations of chi squared. */
static double unevenness(const uint32_t *counts, size_t n, double expected)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    double freedom = (double)n - 1;
    return (sum - freedom) / sqrt(2 * freedom);
}

/* The tick at which a sleeper is looked at is any of the block, whichever it was in the block
 * before, and whichever that of its neighbour is. */
START_TEST(the_tick_is_random)
{
    struct slices s = {.random = SEED};
    static uint32_t before[SLEEPERS], plain[TICKS], next[TICKS * TICKS], beside[TICKS * TICKS];
    printf("# seed %d\n", SEED);
    run_block(&s, SLEEPERS, TICKS);
    for (int block = 0; block < BLOCKS; block++) {
        for (size_t i = 0; i < SLEEPERS; i++)
            before[i] = tick_of[i];
        run_block(&s, SLEEPERS, TICKS);
        /* Those of one block depend on each other: one sleeper of each counts. */
        size_t i = (size_t)block % (SLEEPERS - 1);
        plain[tick_of[i]]++;
        next[before[i] * TICKS + tick_of[i]]++;
        beside[tick_of[i] * TICKS + tick_of[i + 1]]++;
    }
    ck_assert_double_lt(unevenness(plain, TICKS, (double)BLOCKS / TICKS), 4);
    ck_assert_double_lt(unevenness(next, (size_t)TICKS * TICKS, (double)BLOCKS / TICKS / TICKS), 4);
    ck_assert_double_lt(unevenness(beside, (size_t)TICKS * TICKS, (double)BLOCKS / TICKS / TICKS),
                        4);
    slices_release(&s);
}
END_TEST

CHECK_MAIN("slices", 60, each_is_looked_at_once_in_a_block, the_tick_is_random)
