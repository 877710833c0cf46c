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

CHECK_MAIN("clock", 20, utc_reads_back)
