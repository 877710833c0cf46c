#include "base/log.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/check_main.h"

static unsigned lines;
static char last[256];

static void note(const char *line)
{
    lines++;
    (void)snprintf(last, sizeof last, "%s", line);
}

START_TEST(warnings_of_one_cause_are_said_once_and_counted)
{
    log_set_sink(note);
    for (int i = 0; i < 1000; i++)
        log_warn("same", "always the same");
    for (int i = 1; i <= 4; i++)
        log_warn("other", "cannot read %d", i);
    ck_assert_uint_eq(lines, 2);
    ck_assert_str_eq(last, "cannot read 1");
    log_end();
    ck_assert_uint_eq(lines, 3);
    ck_assert_str_eq(last, "3 more like: cannot read 1");
    log_end();
    ck_assert_uint_eq(lines, 3);
}
END_TEST

START_TEST(no_cause_is_lost)
{
    static char keys[200][8];
    log_set_sink(note);
    for (int i = 0; i < 200; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "%d", i);
        log_warn(keys[i], "cause %d", i);
    }
    ck_assert_uint_eq(lines, 200);
    log_end();
}
END_TEST

CHECK_MAIN("log", 20, warnings_of_one_cause_are_said_once_and_counted, no_cause_is_lost)
