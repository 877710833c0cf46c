#include "symbolizer/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/support/check_main.h"
#include "tests/support/files.h"

static const struct build_id id = {{0xab, 0xcd}, 2};
static bool *is_broken;
static int *answer;
static const int *asked;
static char told[256];

static void note(const char *line)
{
    (void)snprintf(told, sizeof told, "%s", line);
}

static void load_stub(void)
{
    char path[TEST_PATH_BYTES];
    beside_binary("libdebuginfod_stub.so", path);
    void *library = dlopen(path, RTLD_NOW);
    ck_assert_msg(library != NULL, "%s", dlerror());
    is_broken = dlsym(library, "stub_is_broken");
    answer = dlsym(library, "stub_answer");
    asked = dlsym(library, "stub_asked");
    (void)setenv("DEBUGINFOD_URLS", "a server", 1);
    log_set_sink(note);
}

START_TEST(nobody_is_asked_unless_the_user_wants_it)
{
    load_stub();
    (void)unsetenv("DEBUGINFOD_URLS");
    ck_assert_ptr_null(debuginfod_open());
    (void)setenv("DEBUGINFOD_URLS", "", 1);
    ck_assert_ptr_null(debuginfod_open());
    ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(a_library_that_does_not_work_is_told_of)
{
    load_stub();
    *is_broken = true;
    ck_assert_ptr_null(debuginfod_open());
    ck_assert_str_eq(told, "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 cannot be used");
}
END_TEST

START_TEST(a_file_is_found)
{
    load_stub();
    struct debuginfod *d = debuginfod_open();
    ck_assert_ptr_nonnull(d);
    int before = dup(STDIN_FILENO);
    close(before);
    char *path = debuginfod_fetch(d, &id);
    ck_assert_str_eq(path, "/the/file");
    ck_assert_int_eq(dup(STDIN_FILENO), before); /* the descriptor that came with it is closed */
    free(path);
    ck_assert_ptr_null(debuginfod_close(d));
    ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(a_server_that_fails_is_not_asked_again)
{
    load_stub();
    struct debuginfod *d = debuginfod_open();
    ck_assert_ptr_nonnull(d);
    *answer = -ENOENT; /* it has no such file: it may have the next */
    for (int i = 1; i <= 2; i++) {
        ck_assert_ptr_null(debuginfod_fetch(d, &id));
        ck_assert_int_eq(*asked, i);
    }
    ck_assert_str_eq(told, "");
    *answer = -ECONNREFUSED;
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_null(debuginfod_fetch(d, &id));
        ck_assert_int_eq(*asked, 3);
        ck_assert_str_eq(told, "debuginfod: Connection refused; naming without it");
    }
    debuginfod_close(d);
}
END_TEST

CHECK_MAIN("debuginfod", 20, nobody_is_asked_unless_the_user_wants_it,
           a_library_that_does_not_work_is_told_of, a_file_is_found,
           a_server_that_fails_is_not_asked_again)
