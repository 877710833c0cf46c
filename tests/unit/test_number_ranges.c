#include "cli/number_ranges.h"

#include <stdlib.h>

#include "tests/support/check_main.h"

struct listing {
    long numbers[8];
    size_t n, most;
    const char *shown;
};
static const struct listing listings[] = {
    {{0}, 0, 8, ""},
    {{5}, 1, 8, "5"},
    {{2, 1}, 2, 8, "1, 2"},
    {{3, 1, 2, 7, 2}, 5, 8, "1-3, 7"},
    {{9, 7, 5, 3, 1}, 5, 2, "1, 3, …"},
    {{4, 3, 2, 1, 9}, 5, 1, "1-4, …"},
};

START_TEST(stretches_are_joined)
{
    for (size_t i = 0; i < sizeof listings / sizeof *listings; i++) {
        struct listing l = listings[i];
        struct text out = {0};
        text_add(&out, "");
        number_ranges_add(l.numbers, l.n, l.most, &out);
        ck_assert_str_eq(out.s, l.shown);
        text_release(&out);
    }
}
END_TEST

CHECK_MAIN("number_ranges", 5, stretches_are_joined)
