/* The main() of a check binary: TESTS is an array of {name, function}. */
#pragma once

#include <check.h>
#include <stdlib.h>

static inline int check_run(const char *name, const TTest *const *tests, size_t n, double timeout_s)
{
    Suite *suite = suite_create(name);
    for (size_t i = 0; i < n; i++) {
        TCase *tcase = tcase_create(tests[i]->name);
        tcase_set_timeout(tcase, timeout_s);
        tcase_add_test(tcase, tests[i]);
        suite_add_tcase(suite, tcase);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define CHECK_MAIN(name, timeout_s, ...)                                                           \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        return check_run(name, tests, sizeof tests / sizeof *tests, timeout_s);                    \
    }
