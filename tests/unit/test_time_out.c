#include "waits/time_out.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "tests/support/bytes_mem.h"
#include "tests/support/check_main.h"

static const uint64_t base = 0x7f0000001000;
static const int64_t begun_ns = INT64_C(5000) * NS_PER_S;

/* When CALL ends that has ARGUMENT at PLACE and SECOND as its second one, and whose struct holds
 * SECONDS and PARTS. */
static int64_t ends_ns(int64_t call, int place, uint64_t argument, uint64_t second, int64_t seconds,
                       int64_t parts)
{
    int64_t words[2] = {seconds, parts};
    uint64_t args[6] = {0, second};
    struct bytes_mem memory = bytes_mem_of(base, (const uint8_t *)words, sizeof words);
    args[place] = argument;
    return time_out_end_ns(call, args, &memory.mem, begun_ns);
}

START_TEST(milliseconds_are_an_argument)
{
    ck_assert_int_eq(ends_ns(SYS_poll, 2, 1500, 0, 0, 0), begun_ns + 1500 * (int64_t)NS_PER_MS);
    ck_assert_int_eq(ends_ns(SYS_epoll_wait, 3, 0, 0, 0, 0), begun_ns);
    /* −1 is "never", whatever the upper half of the register holds */
    ck_assert_int_eq(ends_ns(SYS_epoll_pwait, 3, UINT32_MAX, 0, 0, 0), 0);
    ck_assert_int_eq(ends_ns(SYS_poll, 2, UINT64_MAX, 0, 0, 0), 0);
}
END_TEST

START_TEST(a_struct_is_read)
{
    int64_t wanted = begun_ns + 2 * (int64_t)NS_PER_S + 5 * NS_PER_MS;
    ck_assert_int_eq(ends_ns(SYS_ppoll, 2, base, 0, 2, 5 * NS_PER_MS), wanted);
    ck_assert_int_eq(ends_ns(SYS_select, 4, base, 0, 2, 5000), wanted);
    ck_assert_int_eq(ends_ns(SYS_epoll_pwait2, 3, base, 0, 2, 5 * NS_PER_MS), wanted);
    ck_assert_int_eq(ends_ns(SYS_rt_sigtimedwait, 2, base, 0, 2, 5 * NS_PER_MS), wanted);
}
END_TEST

START_TEST(what_is_no_time_is_none)
{
    ck_assert_int_eq(ends_ns(SYS_ppoll, 2, 0, 0, 2, 0), 0);
    ck_assert_int_eq(ends_ns(SYS_ppoll, 2, base + 8, 0, 2, 0), 0); /* not recorded */
    ck_assert_int_eq(ends_ns(SYS_ppoll, 2, base, 0, -1, 0), 0);
    ck_assert_int_eq(ends_ns(SYS_ppoll, 2, base, 0, INT64_MAX, 0), 0);
    ck_assert_int_eq(ends_ns(SYS_ppoll, 2, base, 0, 1, NS_PER_S), 0);
    ck_assert_int_eq(ends_ns(SYS_select, 4, base, 0, 1, 1000 * 1000), 0);
    ck_assert_int_eq(ends_ns(SYS_read, 2, base, 0, 1, 0), 0); /* it takes none */
}
END_TEST

/* FUTEX_WAIT's counts from the beginning on; the others' is a moment of a clock. */
START_TEST(a_futex_says_from_where_its_time_counts)
{
    enum { PRIVATE = FUTEX_PRIVATE_FLAG };
    int64_t in_three_s = 3 * (int64_t)NS_PER_S;
    int64_t now_s = clock_utc_ns() / NS_PER_S;
    ck_assert_int_eq(ends_ns(SYS_futex, 3, base, FUTEX_WAIT | PRIVATE, 3, 0),
                     begun_ns + in_three_s);
    ck_assert_int_eq(ends_ns(SYS_futex, 3, base, FUTEX_WAIT_BITSET | PRIVATE, 5003, 0),
                     begun_ns + in_three_s);
    int64_t ends =
        ends_ns(SYS_futex, 3, base, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, now_s + 3, 0);
    ck_assert_int_gt(ends, clock_now_ns() + in_three_s - 2 * (int64_t)NS_PER_S);
    ck_assert_int_le(ends, clock_now_ns() + in_three_s);
    ck_assert_int_gt(ends_ns(SYS_futex, 3, base, FUTEX_LOCK_PI, now_s + 3, 0), clock_now_ns());
    ck_assert_int_eq(ends_ns(SYS_futex, 3, 0, FUTEX_WAIT, 3, 0), 0);
}
END_TEST

START_TEST(a_message_queues_is_a_moment_of_the_day)
{
    int64_t now_s = clock_utc_ns() / NS_PER_S;
    int64_t ends = ends_ns(SYS_mq_timedreceive, 4, base, 0, now_s + 3, 0);
    ck_assert_int_gt(ends, clock_now_ns());
    ck_assert_int_le(ends, clock_now_ns() + 3 * (int64_t)NS_PER_S);
}
END_TEST

CHECK_MAIN("time_out", 20, milliseconds_are_an_argument, a_struct_is_read, what_is_no_time_is_none,
           a_futex_says_from_where_its_time_counts, a_message_queues_is_a_moment_of_the_day)
