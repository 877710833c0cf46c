#include "base/search.h"

#include "tests/support/check_main.h"

struct item {
    uint32_t before;
    uint64_t addr;
};

/* Every value around every item, in arrays of every length up to that of ITEMS. */
START_TEST(counts_like_a_walk)
{
    static const struct item items[] = {{9, 0},  {8, 2},  {7, 2},  {6, 5},
                                        {5, 10}, {4, 11}, {3, 20}, {2, UINT64_MAX}};
    for (size_t n = 0; n <= sizeof items / sizeof *items; n++) {
        for (uint64_t value = UINT64_MAX; value != 25; value++) {
            size_t walked = 0;
            while (walked < n && items[walked].addr <= value)
                walked++;
            ck_assert_uint_eq(COUNT_UP_TO(items, n, addr, value), walked);
        }
    }
}
END_TEST

START_TEST(ends_in_an_array_out_of_order)
{
    static const uint64_t values[] = {5, 1, 9, 0, 7};
    size_t n = sizeof values / sizeof *values;
    for (uint64_t value = 0; value < 10; value++)
        ck_assert_uint_le(count_up_to(values, n, sizeof *values, 0, value), n);
    ck_assert_uint_eq(count_up_to(NULL, 0, sizeof *values, 0, 1), 0);
}
END_TEST

CHECK_MAIN("search", 20, counts_like_a_walk, ends_in_an_array_out_of_order)
