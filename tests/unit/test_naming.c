/* Naming in a thread of its own: it finds the same, can be ended, and survives a file that is
 * cut short. */
#include "symbolizer/naming.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "target/elf_guard.h"
#include "tests/support/check_main.h"
#include "tests/support/files.h"

enum { MANY = 10 };

static char dir[] = "/tmp/wallspy-naming-XXXXXX";
static char copy[TEST_PATH_BYTES];
static struct elf_file *file;
static struct debug_search *debug;
static struct naming *naming;
static struct addr_range function;

static void set_up(void)
{
    char from[TEST_PATH_BYTES];
    ck_assert_int_eq(elf_guard_install(), 0);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(copy, sizeof copy, "%s/copy.so", dir);
    beside_binary("libplugin.so", from);
    copy_file(from, copy);
    ck_assert_int_eq(elf_file_open(&file, copy, NULL), 0);
    ck_assert_int_eq(elf_file_symbol(file, "plugin_answer", &function), 0);
    debug = debug_search_new(getpid());
    naming = naming_new();
}

static void tear_down(void)
{
    naming_free(naming);
    debug_search_free(debug);
    elf_file_free(file);
    unlink(copy);
    rmdir(dir);
}

/* N times the function's first byte. */
static void add(size_t n)
{
    static struct naming_place places[MANY];
    for (size_t i = 0; i < n; i++)
        places[i] = (struct naming_place){function.start, function.start};
    naming_add(naming, file, copy, debug, places, n);
}

static void wait_until_done(void)
{
    int64_t end_ns = clock_now_ns() + 20 * (int64_t)NS_PER_S;
    while (!naming_is_done(naming)) {
        ck_assert_int_lt(clock_now_ns(), end_ns);
        usleep(1000);
    }
    naming_stop(naming);
}

static void check_found(size_t i)
{
    const struct location *l;
    ck_assert_uint_eq(naming_found(naming, i, &l), 1);
    ck_assert_str_eq(naming_text(naming, l->function), "plugin_answer");
    const char *source = strrchr(naming_text(naming, l->file), '/');
    ck_assert_str_eq(source ? source : "", "/plugin.c");
    ck_assert_uint_ge(l->line, l->function_line);
}

START_TEST(a_thread_of_its_own_finds_the_same)
{
    add(1);
    add(2);
    ck_assert_int_eq(naming_start(naming), 0);
    wait_until_done();
    for (size_t i = 0; i < 3; i++)
        check_found(i);
}
END_TEST

START_TEST(this_thread_finds_it_too)
{
    add(1);
    naming_run(naming, (struct naming_progress){0});
    check_found(0);
    ck_assert(!naming_is_done(naming));
}
END_TEST

static bool until_the_second(void *ctx, double share)
{
    ck_assert(share > 0 && share <= 1);
    return ++*(int *)ctx < 2;
}

/* What was found until then counts. */
static void check_only(size_t n)
{
    const struct location *l;
    for (size_t i = 0; i < n; i++)
        check_found(i);
    for (size_t i = n; i < MANY; i++)
        ck_assert_uint_eq(naming_found(naming, i, &l), 0);
}

START_TEST(it_ends_when_told)
{
    int asked = 0;
    add(MANY);
    naming_run(naming, (struct naming_progress){until_the_second, &asked});
    check_only(2);
}
END_TEST

START_TEST(a_thread_of_its_own_ends_when_told)
{
    add(MANY);
    naming_stop(naming);
    ck_assert_int_eq(naming_start(naming), 0);
    wait_until_done();
    check_only(1);
}
END_TEST

START_TEST(a_file_cut_short_has_no_names)
{
    const struct location *l;
    add(1);
    ck_assert_int_eq(truncate(copy, 0), 0);
    ck_assert_int_eq(naming_start(naming), 0);
    wait_until_done();
    ck_assert_uint_eq(naming_found(naming, 0, &l), 0);
    ck_assert_uint_gt(elf_guard_pages(), 0);
}
END_TEST

CHECK_MAIN_WITH("naming", 30, set_up, tear_down, a_thread_of_its_own_finds_the_same,
                this_thread_finds_it_too, it_ends_when_told, a_thread_of_its_own_ends_when_told,
                a_file_cut_short_has_no_names)
