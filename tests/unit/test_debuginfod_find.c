/* debuginfod.h as the static program has it, by a debuginfod-find of our own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "symbolizer/debuginfod.h"
#include "tests/support/check_main.h"

static const struct build_id id = {{0xab, 0x0d}, 2};
static char folder[] = "/tmp/test_debuginfod_find.XXXXXX";
static char program[sizeof folder + 32];
static char asked[sizeof folder + 32];
static char told[256];

static void note(const char *line)
{
    (void)snprintf(told, sizeof told, "%s", line);
}

/* Which does SCRIPT, after it has noted with what it was called. */
static void make_program(const char *script)
{
    FILE *file = fopen(program, "we");
    ck_assert_ptr_nonnull(file);
    (void)fprintf(file, "#!/bin/sh\necho \"$*\" >>%s\n%s\n", asked, script);
    (void)fclose(file);
    ck_assert_int_eq(chmod(program, S_IRWXU), 0);
}

static size_t times_asked(void)
{
    size_t n = 0;
    FILE *file = fopen(asked, "re");
    for (int c; file && (c = fgetc(file)) != EOF;)
        n += c == '\n';
    if (file)
        (void)fclose(file);
    return n;
}

static void set_up(void)
{
    char path[256];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(program, sizeof program, "%s/debuginfod-find", folder);
    (void)snprintf(asked, sizeof asked, "%s/asked", folder);
    (void)snprintf(path, sizeof path, "%s:/usr/bin:/bin", folder);
    (void)setenv("PATH", path, 1);
    (void)setenv("DEBUGINFOD_URLS", "a server", 1);
    (void)setenv("DEBUGINFOD_TIMEOUT", "90", 1);
    (void)setenv("DEBUGINFOD_VERBOSE", "1", 1);
    log_set_sink(note);
}

static void tear_down(void)
{
    (void)unlink(program);
    (void)unlink(asked);
    (void)rmdir(folder);
}

START_TEST(nobody_is_asked_unless_the_user_wants_it)
{
    make_program("echo /the/file");
    (void)setenv("DEBUGINFOD_URLS", "", 1);
    ck_assert_ptr_null(debuginfod_open());
    (void)unsetenv("DEBUGINFOD_URLS");
    ck_assert_ptr_null(debuginfod_open());
    ck_assert_uint_eq(times_asked(), 0);
    ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(a_file_is_found)
{
    make_program("[ \"$*\" = 'debuginfo ab0d' ] && echo something >&2 && echo /the/file");
    struct debuginfod *d = debuginfod_open();
    char *path = debuginfod_fetch(d, &id);
    ck_assert_str_eq(path, "/the/file");
    free(path);
    ck_assert_ptr_null(debuginfod_close(d));
    ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(it_is_told_to_be_quick_and_short)
{
    make_program("echo /$DEBUGINFOD_TIMEOUT.$DEBUGINFOD_MAXTIME.${DEBUGINFOD_VERBOSE-none}."
                 "$DEBUGINFOD_URLS");
    struct debuginfod *d = debuginfod_open();
    char *path = debuginfod_fetch(d, &id);
    ck_assert_str_eq(path, "/5.5.none.a server");
    free(path);
    debuginfod_close(d);
}
END_TEST

START_TEST(a_server_that_fails_is_not_asked_again)
{
    struct debuginfod *d = debuginfod_open();
    make_program("echo 'Server query failed: No such file or directory' >&2; exit 1");
    for (size_t i = 1; i <= 2; i++) { /* it may have the next */
        ck_assert_ptr_null(debuginfod_fetch(d, &id));
        ck_assert_uint_eq(times_asked(), i);
    }
    ck_assert_str_eq(told, "");
    make_program("echo 'Server query failed: Connection refused' >&2; exit 1");
    for (size_t i = 0; i < 2; i++) {
        ck_assert_ptr_null(debuginfod_fetch(d, &id));
        ck_assert_uint_eq(times_asked(), 3);
    }
    ck_assert_str_eq(told,
                     "debuginfod: Server query failed: Connection refused; naming without it");
    debuginfod_close(d);
}
END_TEST

START_TEST(a_program_that_says_nothing_is_not_asked_again)
{
    struct debuginfod *d = debuginfod_open();
    make_program("exit 1");
    ck_assert_ptr_null(debuginfod_fetch(d, &id));
    ck_assert_ptr_null(debuginfod_fetch(d, &id));
    ck_assert_uint_eq(times_asked(), 1);
    ck_assert_str_eq(told, "debuginfod: debuginfod-find failed; naming without it");
    debuginfod_close(d);
}
END_TEST

START_TEST(no_answer_costs_a_few_seconds_once)
{
    struct debuginfod *d = debuginfod_open();
    make_program("exec sleep 60");
    int64_t before_ns = clock_now_ns();
    ck_assert_ptr_null(debuginfod_fetch(d, &id));
    ck_assert_ptr_null(debuginfod_fetch(d, &id));
    ck_assert_int_lt(clock_now_ns() - before_ns, 8LL * NS_PER_S);
    ck_assert_uint_eq(times_asked(), 1);
    ck_assert_str_eq(told, "debuginfod: no answer in time; naming without it");
    debuginfod_close(d);
}
END_TEST

START_TEST(a_program_that_is_missing_is_told_of)
{
    (void)setenv("PATH", folder, 1);
    struct debuginfod *d = debuginfod_open();
    ck_assert_ptr_null(debuginfod_fetch(d, &id));
    ck_assert_str_eq(told, "DEBUGINFOD_URLS is set, but debuginfod-find is not installed");
    debuginfod_close(d);
}
END_TEST

CHECK_MAIN_WITH("debuginfod_find", 20, set_up, tear_down, nobody_is_asked_unless_the_user_wants_it,
                a_file_is_found, it_is_told_to_be_quick_and_short,
                a_server_that_fails_is_not_asked_again,
                a_program_that_says_nothing_is_not_asked_again, no_answer_costs_a_few_seconds_once,
                a_program_that_is_missing_is_told_of)
