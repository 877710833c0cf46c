/* Time that several processes share. */
#include "worker/turns.h"

#include "base/clock.h"
#include "tests/support/check_main.h"

START_TEST(many_processes_take_no_longer_than_one)
{
    for (size_t n = 1; n <= 32; n++) {
        int64_t now_ns = NS_PER_S;
        struct turns t = turns_of(n, NS_PER_S, now_ns);
        int64_t first_ns = turns_next_ns(&t, now_ns);
        now_ns += first_ns;
        for (size_t i = 1; i < n; i++) {
            int64_t ns = turns_next_ns(&t, now_ns);
            ck_assert_int_ge(ns, first_ns);
            ck_assert_int_le(ns, first_ns + (int64_t)n);
            now_ns += ns;
        }
        ck_assert_int_le(now_ns, 2 * NS_PER_S);
    }
}
END_TEST

START_TEST(what_one_leaves_is_the_others)
{
    struct turns t = turns_of(2, 100, 0);
    ck_assert_int_eq(turns_next_ns(&t, 0), 50);
    ck_assert_int_eq(turns_next_ns(&t, 10), 90);
    ck_assert_int_eq(turns_next_ns(&t, 20), 80); /* one more than was said */
    ck_assert_int_eq(turns_next_ns(&t, 200), 0);
}
END_TEST

CHECK_MAIN("turns", 20, many_processes_take_no_longer_than_one, what_one_leaves_is_the_others)
