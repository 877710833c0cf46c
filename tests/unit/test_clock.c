#include "base/clock.h"

#include <string.h>
#include <time.h>

#include "tests/support/check_main.h"

START_TEST(utc_reads_back)
{
    char text[CLOCK_UTC_BYTES];
    struct tm utc = {0};
    time_t before = time(NULL);
    clock_utc_text(text);
    time_t after = time(NULL);
    ck_assert_uint_eq(strlen(text), strlen("2024-02-29T23:59:59Z"));
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    ck_assert(rest && !*rest);
    time_t told = timegm(&utc);
    ck_assert(before <= told && told <= after);
}
END_TEST

START_TEST(any_time_has_a_text)
{
    char text[CLOCK_UTC_BYTES];
    clock_utc_text_of(0, text);
    ck_assert_str_eq(text, "1970-01-01T00:00:00Z");
    clock_utc_text_of(INT64_C(1700000000123456789), text);
    ck_assert_str_eq(text, "2023-11-14T22:13:20Z");
}
END_TEST

START_TEST(any_time_of_day_has_milliseconds)
{
    char text[CLOCK_UTC_BYTES];
    clock_utc_ms_text(INT64_C(1709251199007999999), text);
    ck_assert_str_eq(text, "2024-02-29T23:59:59.007Z");
    clock_utc_ms_text(0, text);
    ck_assert_str_eq(text, "1970-01-01T00:00:00.000Z");
}
END_TEST

CHECK_MAIN("clock", 20, utc_reads_back, any_time_has_a_text, any_time_of_day_has_milliseconds)
