#include "symbolizer/ranges.h"

#include "tests/support/check_main.h"

START_TEST(innermost_wins)
{
    struct ranges r = {0};
    ck_assert_uint_eq(ranges_find(&r, 5), RANGES_NONE);
    (void)ranges_add(&r, 12, 14, 3);
    (void)ranges_add(&r, 10, 20, 2);
    (void)ranges_add(&r, 0, 100, 1);
    (void)ranges_add(&r, 10, 20, 4);  /* equal to 2: the later item */
    (void)ranges_add(&r, 50, 50, 5);  /* empty */
    (void)ranges_add(&r, 90, 110, 6); /* overlaps without nesting */
    (void)ranges_add(&r, 200, UINT64_MAX, 7);
    ranges_finish(&r);
    static const struct {
        uint64_t addr;
        uint32_t item;
    } cases[] = {{0, 1},
                 {9, 1},
                 {10, 4},
                 {11, 4},
                 {12, 3},
                 {13, 3},
                 {14, 4},
                 {19, 4},
                 {20, 1},
                 {50, 1},
                 {89, 1},
                 {90, 6},
                 {99, 6},
                 {100, 6},
                 {109, 6},
                 {110, RANGES_NONE},
                 {199, RANGES_NONE},
                 {200, 7},
                 {UINT64_MAX - 1, 7},
                 {UINT64_MAX, RANGES_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_uint_eq(ranges_find(&r, cases[i].addr), cases[i].item);
    ranges_release(&r);
}
END_TEST

/* The slow way: of all ranges that contain ADDR the one that starts last, then ends first, … */
static uint32_t find_slowly(const struct range *items, size_t n, uint64_t addr)
{
    const struct range *best = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct range *r = &items[i];
        if (addr < r->start || addr >= r->end)
            continue;
        if (!best || r->start > best->start || (r->start == best->start && r->end <= best->end))
            best = r;
    }
    return best ? best->item : RANGES_NONE;
}

START_TEST(any_ranges_agree_with_the_slow_way)
{
    uint64_t random = 7;
    for (int round = 0; round < 300; round++) {
        enum { N = 40, SPAN = 120 };
        struct ranges r = {0};
        struct range copy[N];
        for (uint32_t i = 0; i < N; i++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            uint64_t start = (random >> 33) % SPAN;
            copy[i] = (struct range){start, start + (random >> 50) % 30, i};
            ck_assert(ranges_add(&r, copy[i].start, copy[i].end, i));
        }
        ranges_finish(&r);
        for (uint64_t addr = 0; addr < SPAN + 40; addr++)
            ck_assert_uint_eq(ranges_find(&r, addr), find_slowly(copy, N, addr));
        ranges_release(&r);
    }
}
END_TEST

CHECK_MAIN("ranges", 20, innermost_wins, any_ranges_agree_with_the_slow_way)
