/* A process that is left alone is not looked at, for longer each time, and the time is counted. */
#include "sampler/left_alone.h"

#include "base/clock.h"
#include "sampler/state.h"
#include "tests/support/check_main.h"

static struct sampler s;
static struct process p = {.stat_fd = -1};

static int64_t counted_ns(void)
{
    return (int64_t)counters_get(&s.counters, COUNT_LEFT_ALONE_NS);
}

/* Leaves P alone, as of S's tick. */
static void leave_for(int64_t seconds)
{
    s.tick_ns = clock_now_ns();
    ck_assert_int_eq(left_alone_begin(&s, &p), seconds * (int64_t)NS_PER_S);
    s.tick_ns = p.left_alone_since_ns + seconds * (int64_t)NS_PER_S - 1;
    ck_assert(left_alone(&s, &p));
    s.tick_ns++;
    ck_assert(!left_alone(&s, &p));
}

START_TEST(each_time_lasts_twice_as_long)
{
    ck_assert(!left_alone(&s, &p));
    leave_for(10);
    ck_assert_int_eq(counted_ns(), 10 * (int64_t)NS_PER_S);
    leave_for(20);
    leave_for(40);
    ck_assert_int_eq(counted_ns(), 70 * (int64_t)NS_PER_S);
    ck_assert_uint_eq(counters_get(&s.counters, COUNT_LEFT_ALONE), 3);
}
END_TEST

START_TEST(the_end_of_the_recording_ends_it)
{
    (void)left_alone_begin(&s, &p);
    left_alone_end(&s, &p, p.left_alone_since_ns + 5);
    left_alone_end(&s, &p, INT64_MAX);
    ck_assert_int_eq(counted_ns(), 5);
}
END_TEST

CHECK_MAIN("left_alone", 20, each_time_lasts_twice_as_long, the_end_of_the_recording_ends_it)
