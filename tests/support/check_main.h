/* The main() of a check binary: TESTS is an array of {name, function}; what a test says that is
 * left out. */
#pragma once

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Returns UNABLE, and if so says for tools/test-summary that the running test leaves something out,
 * and WHY: check has no skips of its own.  Not on stdout, where check writes lines in pieces. */
static inline bool check_skips(bool unable, const char *why)
{
    if (unable)
        (void)dprintf(STDERR_FILENO, "# SKIP %s: %s\n", tcase_name(), why);
    return unable;
}

static inline int check_end(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static inline int check_run(const char *name, const TTest *const *tests, size_t n, double timeout_s,
                            void (*set_up)(void), void (*tear_down)(void))
{
    Suite *suite = suite_create(name);
    for (size_t i = 0; i < n; i++) {
        TCase *tcase = tcase_create(tests[i]->name);
        tcase_set_timeout(tcase, timeout_s);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, tests[i]);
        suite_add_tcase(suite, tcase);
    }
    return check_end(suite);
}

#define CHECK_MAIN(name, timeout_s, ...) CHECK_MAIN_WITH(name, timeout_s, NULL, NULL, __VA_ARGS__)
/* SET_UP() runs before each test, TEAR_DOWN() after it. */
#define CHECK_MAIN_WITH(name, timeout_s, set_up, tear_down, ...)                                   \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        return check_run(name, tests, sizeof tests / sizeof *tests, timeout_s, set_up, tear_down); \
    }
