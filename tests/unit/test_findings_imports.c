/* Threads that import Python's modules. */
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

#define MAIN   "<module>@/src/app.py:1:3 > "
#define IMPORT "_find_and_load@<frozen importlib._bootstrap>:1:2 > "
#define SYMPY  IMPORT "<module>@/v/site-packages/sympy/__init__.py:1:2 > "
#define BOTO   IMPORT "<module>@/usr/lib/python3.11/site-packages/botocore/loaders.py:1:2 > "
static thread_id lead;

static void setup(void)
{
    b = builder_start(10, "app");
    lead = builder_thread(&b, 10, NULL);
}

START_TEST(the_packages_are_named)
{
    setup();
    builder_run(&b, lead, MAIN SYMPY "f@/v/site-packages/sympy/core.py:1:2", 2000, 2000);
    builder_run(&b, lead, MAIN SYMPY BOTO "g@/v/site-packages/botocore/a.py:1:2", 400, 400);
    builder_run(&b, lead, MAIN BOTO "read /v/b.py [blocked]", 1000, 0);
    builder_run(&b, lead, MAIN IMPORT "<module>@/src/views.py:1:2 > h@/src/views.py:1:3", 400, 400);
    builder_run(&b, lead, MAIN IMPORT "compile!python3", 200, 200);
    judge(4000);
    assert_told(0, "imports",
                "main spends 90% of its time importing modules: 60% sympy, 25% botocore. Import "
                "inside the function that needs it, to pay only when it runs.");
    teardown();
}
END_TEST

/* N threads, each with less of its time than the one before. */
static void judge_importing(int n)
{
    static const int64_t import_ms[] = {3600, 2800, 2600, 2400};
    setup();
    for (int i = 0; i < n; i++) {
        thread_id t = i ? builder_thread(&b, 10 + i, (char[]){(char)('a' + i), 0}) : lead;
        builder_run(&b, t, MAIN SYMPY "f@/v/site-packages/sympy/core.py:1:2", import_ms[i],
                    import_ms[i]);
        builder_run(&b, t, MAIN "read /v/b.py [blocked]", 4000 - import_ms[i], 0);
    }
    judge(4000);
}

START_TEST(all_that_import_are_named)
{
    static const char *const others[] = {"pay only when it runs.", "b (70%) imports modules, too.",
                                         "b (70%) and c (65%) import modules, too.",
                                         "b (70%), c (65%) and 1 other import modules, too."};
    for (int n = 1; n <= 4; n++) {
        judge_importing(n);
        assert_told(0, "imports", others[n - 1]);
        const char *words = found.printed[0]->words;
        ck_assert_str_eq(words + strlen(words) - strlen(others[n - 1]), others[n - 1]);
        teardown();
    }
}
END_TEST

/* Processes that begin one after the other pay for the same again and again. */
START_TEST(processes_that_import_anew_are_counted)
{
    for (int begun = 2; begun <= 3; begun++) {
        setup();
        builder_run(&b, lead, MAIN "read /v/b.py [blocked]", 4000, 0);
        for (int i = 0; i < begun; i++) {
            builder_process(&b, 20 + i, "worker", "");
            thread_id t = builder_thread(&b, 20 + i, NULL);
            profile_get_thread(b.p, t)->start_ns = (int64_t)NS_PER_S * (i + 1) / 2;
            builder_run(&b, t, MAIN SYMPY "f@/v/site-packages/sympy/core.py:1:2", 2000, 2000);
        }
        judge(4000);
        ck_assert_int_eq(
            is_said("3 processes began meanwhile, and each imports anew: let one do more "
                    "of the work before it ends."),
            begun == 3);
        ck_assert_int_eq(is_said("Import inside the function that needs it"), begun != 3);
        teardown();
    }
}
END_TEST

/* "95% botocore", where a tool's own package imports it, not "100% tool". */
START_TEST(what_the_largest_imports_is_told)
{
    setup();
    builder_run(&b, lead,
                MAIN IMPORT "<module>@/v/site-packages/tool/cli.py:1:2 > " BOTO
                            "f@/v/site-packages/botocore/a.py:1:2",
                3800, 3800);
    builder_run(&b, lead, MAIN IMPORT "<module>@/v/site-packages/tool/cli.py:1:2", 200, 200);
    judge(4000);
    assert_told(0, "imports",
                "main spends 100% of its time importing modules: 95% botocore, 5% tool.");
    teardown();
}
END_TEST

START_TEST(what_runs_is_no_import)
{
    static const char *const stacks[] = {
        /* the user's own module, which does the work */
        MAIN IMPORT "<module>@/src/job.py:1:2 > work@/src/job.py:5:6",
        /* python -m tool */
        "_run_code@<frozen runpy>:1:2 > <module>@/v/site-packages/tool/__main__.py:1:2 > "
        "work@/v/site-packages/tool/a.py:1:2",
        /* a function of a package, called by a package's function */
        MAIN "load@/v/site-packages/sympy/a.py:1:2 > eval@/v/site-packages/sympy/b.py:1:2",
        /* the import's lock */
        MAIN "_find_and_load@<frozen importlib._bootstrap>:1:2 > futex [blocked]",
    };
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        setup();
        builder_run(&b, lead, stacks[i], 4000, 0);
        judge(4000);
        assert_not_told("imports");
        teardown();
    }
}
END_TEST

/* py_compile has the loader compile, and imports nothing. */
START_TEST(who_compiles_files_does_not_import)
{
    setup();
    builder_run(&b, lead,
                "compile@/usr/lib/python3.11/py_compile.py:79:144 > "
                "source_to_code@<frozen importlib._bootstrap_external>:1:2",
                4000, 4000);
    judge(4000);
    assert_not_told("imports");
    teardown();
}
END_TEST

CHECK_MAIN("findings_imports", 20, processes_that_import_anew_are_counted,
           all_that_import_are_named, who_compiles_files_does_not_import, the_packages_are_named,
           what_the_largest_imports_is_told, what_runs_is_no_import)
