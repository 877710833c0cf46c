/* Naming in a child process: it finds the same, can be ended, survives a file that is cut short,
 * and a crash or a hang costs the names of one file. */
#include "symbolizer/naming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "target/elf_guard.h"
#include "tests/support/check_main.h"
#include "tests/support/files.h"

enum { MANY = 10, OFFSETS = 3 };

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
    naming = naming_new((struct naming_quiet){0});
}

static void tear_down(void)
{
    naming_free(naming);
    debug_search_free(debug);
    elf_file_free(file);
    unlink(copy);
    rmdir(dir);
}

/* The function's first byte, N times. */
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
    ck_assert_ptr_null(naming_fault(naming, i));
}

START_TEST(a_job_beside_the_recording_finds_the_same)
{
    add(1);
    add(2);
    ck_assert_int_eq(naming_start(naming), 0);
    wait_until_done();
    for (size_t i = 0; i < 3; i++)
        check_found(i);
}
END_TEST

START_TEST(who_waits_finds_it_too)
{
    add(1);
    naming_run(naming, (struct naming_progress){0});
    check_found(0);
}
END_TEST

/* The share is 0 before the first look-up. */
static bool until_the_second(void *ctx, double share)
{
    int *found = ctx;
    ck_assert(share >= 0 && share <= 1);
    *found = (int)(share * MANY + .5);
    return *found < 2;
}

static void check_none(size_t first, size_t end)
{
    const struct location *l;
    for (size_t i = first; i < end; i++)
        ck_assert_uint_eq(naming_found(naming, i, &l), 0);
}

START_TEST(it_ends_when_told_and_keeps_what_it_found)
{
    int found = 0;
    add(MANY);
    naming_run(naming, (struct naming_progress){until_the_second, &found});
    ck_assert_int_eq(found, 2);
    check_found(0);
    check_found(1);
    check_none(2, MANY);
    ck_assert_ptr_null(naming_fault(naming, 2));
}
END_TEST

START_TEST(a_job_beside_the_recording_ends_when_told)
{
    add(MANY);
    ck_assert_int_eq(naming_start(naming), 0);
    naming_stop(naming);
    ck_assert(naming_is_done(naming));
    ck_assert_ptr_null(naming_fault(naming, MANY - 1));
}
END_TEST

START_TEST(a_file_cut_short_has_no_names)
{
    add(1);
    ck_assert_int_eq(truncate(copy, 0), 0);
    ck_assert_int_eq(naming_start(naming), 0);
    wait_until_done();
    check_none(0, 1);
    ck_assert_ptr_null(naming_fault(naming, 0));
    ck_assert_uint_gt(elf_guard_pages(), 0); /* also those of the child */
}
END_TEST

/* ---- faults ---- */

static volatile size_t *volatile nowhere;

static size_t crash(void)
{
    return *nowhere;
}

static _Noreturn size_t hang(void)
{
    for (;;)
        (void)pause();
}

static volatile size_t deepest;

static __attribute__((noinline)) size_t overflow(size_t depth)
{
    volatile char much[1 << 12];
    much[depth % sizeof much] = 1;
    deepest = depth;
    return depth == SIZE_MAX ? 0 : overflow(depth + 1) + (size_t)much[depth % sizeof much];
}

static size_t overflow_stack(void)
{
    return overflow(0);
}

/* The second place of the second file. */
static uint64_t bad_offset(void)
{
    return function.start + 1;
}

static size_t (*fault)(void);

static size_t find(struct module_names *names, uint64_t elf_addr, uint64_t begin,
                   struct location *ret)
{
    return elf_addr == bad_offset() ? fault() : module_names_find(names, elf_addr, begin, ret);
}

static void add_bad(void)
{
    struct naming_place places[OFFSETS];
    for (size_t i = 0; i < OFFSETS; i++)
        places[i] = (struct naming_place){function.start + i, function.start};
    naming_add(naming, file, copy, debug, places, OFFSETS);
}

/* Files: a good one, a bad one, a good one. */
static void stage(size_t (*what)(void))
{
    fault = what;
    add(2);
    add_bad();
    add(1);
    naming_pretend(naming, find, NS_PER_S / 4);
}

/* A sanitizer ends the child in a way of its own. */
static void expect_fault(size_t i, const char *why)
{
    ck_assert_ptr_nonnull(naming_fault(naming, i));
#ifndef __SANITIZE_ADDRESS__
    ck_assert_str_eq(naming_fault(naming, i), why);
#endif
    (void)why;
}

static void expect_one_file_lost(const char *why)
{
    for (size_t i = 0; i < 3; i++)
        check_found(i);
    check_none(3, 5);
    expect_fault(3, why);
    expect_fault(4, why);
    check_found(5);
}

static const struct {
    size_t (*what)(void);
    const char *why;
} faults[] = {
    {crash, "Segmentation fault"},
    {hang, "it took too long"},
    {overflow_stack, "Segmentation fault"},
};

START_TEST(a_fault_costs_the_rest_of_one_file)
{
    stage(faults[_i].what);
    naming_run(naming, (struct naming_progress){0});
    expect_one_file_lost(faults[_i].why);
}
END_TEST

/* The rest waits for the next job. */
START_TEST(a_fault_ends_a_job_beside_the_recording)
{
    stage(faults[_i].what);
    ck_assert_int_eq(naming_start(naming), 0);
    wait_until_done();
    for (size_t i = 0; i < 3; i++)
        check_found(i);
    check_none(3, 6);
    expect_fault(4, faults[_i].why);
    ck_assert_ptr_null(naming_fault(naming, 5));
}
END_TEST

/* The user waits for each. */
START_TEST(after_three_hangs_the_rest_is_left_out)
{
    enum { FILES = 5 };
    fault = hang;
    naming_pretend(naming, find, NS_PER_S / 20);
    for (int i = 0; i < FILES; i++)
        add_bad();
    naming_run(naming, (struct naming_progress){0});
    check_found(2L * OFFSETS);
    check_none(3L * OFFSETS, (size_t)FILES * OFFSETS);
    ck_assert_str_eq(naming_fault(naming, 3L * OFFSETS), "others took too long");
}
END_TEST

/* Half of all places are found before the hang. */
static bool after_a_while(void *ctx, double share)
{
    int *asked = ctx;
    *asked += share >= .5;
    return *asked < 3;
}

START_TEST(who_discards_the_recording_waits_for_no_hang)
{
    int asked = 0;
    stage(hang);
    naming_pretend(naming, find, (int64_t)3600 * NS_PER_S);
    naming_run(naming, (struct naming_progress){after_a_while, &asked});
    ck_assert_int_eq(asked, 3);
}
END_TEST

/* ---- quiet ---- */

static int begun, ended;

static bool begin(void *wanted)
{
    begun++;
    return *(bool *)wanted;
}

static void end(void *wanted)
{
    (void)wanted;
    ended++;
}

static void expect_start(bool quiet, int r, int ends)
{
    naming_free(naming);
    naming = naming_new((struct naming_quiet){begin, end, &quiet});
    add(1);
    begun = ended = 0;
    ck_assert_int_eq(naming_start(naming), r);
    ck_assert_int_eq(begun, 1);
    ck_assert_int_eq(ended, ends);
    naming_stop(naming);
}

START_TEST(a_fork_waits_for_quiet)
{
    expect_start(true, 0, 1);
    expect_start(false, -EBUSY, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("naming");
    TCase *plain = tcase_create("naming");
    TCase *bad = tcase_create("faults");
    TCase *all[] = {plain, bad};
    for (size_t i = 0; i < 2; i++) {
        tcase_set_timeout(all[i], 30);
        tcase_add_checked_fixture(all[i], set_up, tear_down);
        suite_add_tcase(suite, all[i]);
    }
    tcase_add_test(plain, a_job_beside_the_recording_finds_the_same);
    tcase_add_test(plain, who_waits_finds_it_too);
    tcase_add_test(plain, it_ends_when_told_and_keeps_what_it_found);
    tcase_add_test(plain, a_job_beside_the_recording_ends_when_told);
    tcase_add_test(plain, a_file_cut_short_has_no_names);
    tcase_add_test(plain, a_fork_waits_for_quiet);
    tcase_add_test(bad, after_three_hangs_the_rest_is_left_out);
    tcase_add_test(bad, who_discards_the_recording_waits_for_no_hang);
    tcase_add_loop_test(bad, a_fault_costs_the_rest_of_one_file, 0, 3);
    tcase_add_loop_test(bad, a_fault_ends_a_job_beside_the_recording, 0, 3);
    return check_end(suite);
}
