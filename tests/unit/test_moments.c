#include "profile/moments.h"

#include <string.h>

#include "base/clock.h"
#include "profile/ageing.h"
#include "profile/profile.h"
#include "tests/support/check_main.h"

START_TEST(marks_are_kept_up_to_a_number)
{
    struct profile *p = profile_new(1 << 22); /* whatever room there is for names */
    size_t n;
    for (int i = 0; i < MOST_MARKS; i++)
        ck_assert(profile_add_mark(p, i, 1000 + (uint64_t)i, i % 2 ? "odd" : "even"));
    ck_assert(!profile_add_mark(p, MOST_MARKS, 0, "one more"));
    ck_assert(!profile_add_mark(p, MOST_MARKS, 0, "and another"));
    const struct user_mark *marks = profile_marks(p, &n);
    ck_assert_uint_eq(n, MOST_MARKS);
    ck_assert_int_eq(marks[7].at_ns, 7);
    ck_assert_uint_eq(marks[7].utc_ns, 1007);
    ck_assert_str_eq(profile_text(p, marks[7].text), "odd");
    ck_assert(profile_number(p, METRIC_MARKS_DROPPED) == 2);
    profile_free(p);
}
END_TEST

/* A ring has room for new ones, and their texts, for as long as it lasts. */
START_TEST(a_ring_forgets_marks_that_are_older)
{
    enum { ALL = 5 * MOST_MARKS, KEPT_S = 10, A_SECOND = 100, LATE = KEPT_S / 4 + 2 };
    struct profile *p = profile_new(1 << 22);
    size_t n;
    profile_keep_last(p, KEPT_S * (int64_t)NS_PER_S);
    for (int64_t i = 0; i < ALL; i++) {
        char text[] = "step 00000";
        for (int64_t k = i, place = (int64_t)sizeof text - 2; k; k /= 10)
            text[place--] = (char)('0' + k % 10);
        int64_t at_ns = i * NS_PER_S / A_SECOND;
        profile_age(p, at_ns);
        ck_assert(profile_add_mark(p, at_ns, 1000 + (uint64_t)i, text));
    }
    const struct user_mark *marks = profile_marks(p, &n);
    ck_assert_uint_ge(n, KEPT_S * A_SECOND);
    ck_assert_uint_le(n, (KEPT_S + LATE) * A_SECOND);
    ck_assert_uint_eq(profile_marks_aged(p), ALL - n);
    ck_assert_str_eq(profile_text(p, marks[n - 1].text), "step 49999");
    ck_assert_uint_eq(marks[0].utc_ns, 1000 + ALL - n);
    ck_assert(profile_number(p, METRIC_MARKS_DROPPED) == 0);
    profile_free(p);
}
END_TEST

START_TEST(no_pause_is_lost)
{
    struct profile *p = profile_new(0);
    size_t n;
    for (int i = 0; i < MOST_PAUSES + 5; i++)
        profile_add_pause(p, &(struct user_pause){i, 1000, NS_PER_MS});
    const struct user_pause *pauses = profile_pauses(p, &n);
    ck_assert_uint_eq(n, MOST_PAUSES);
    ck_assert_int_eq(pauses[n - 2].paused_ns, NS_PER_MS);
    ck_assert_int_eq(pauses[n - 1].paused_ns, 6 * (int64_t)NS_PER_MS);
    double paused_s = profile_number(p, METRIC_PAUSED_S);
    ck_assert(paused_s > 10.0049 && paused_s < 10.0051);
    profile_free(p);
}
END_TEST

START_TEST(what_a_terminal_obeys_is_no_text)
{
    ck_assert(mark_text_is_good("step \u00fc", 7));
    ck_assert(!mark_text_is_good("", 0));
    ck_assert(!mark_text_is_good("a\nb", 3));
    ck_assert(!mark_text_is_good("a\0b", 3));
    ck_assert(!mark_text_is_good("\xc3", 1));
    ck_assert(!mark_text_is_good("\u202e", 3));
}
END_TEST

CHECK_MAIN("moments", 20, a_ring_forgets_marks_that_are_older, marks_are_kept_up_to_a_number,
           no_pause_is_lost, what_a_terminal_obeys_is_no_text)
