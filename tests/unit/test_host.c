#include "target/host.h"

#include <string.h>

#include "base/clock.h"
#include "target/process_list.h"
#include "tests/support/check_main.h"

START_TEST(the_first_line_is_read)
{
    static const char good[] = "cpu  10 20 30 40 50 60 70 250 0 0\ncpu0 1 2";
    struct host_cpu cpu = host_cpu_parse(good, strlen(good), 100);
    ck_assert_int_eq(cpu.busy_ns, 600 * (int64_t)NS_PER_MS);
    ck_assert_int_eq(cpu.interrupts_ns, 1300 * (int64_t)NS_PER_MS);
    ck_assert_int_eq(cpu.stolen_ns, 2500 * (int64_t)NS_PER_MS);
}
END_TEST

START_TEST(what_is_malformed_is_zero)
{
    static const char *const bad[] = {"", "cpu  10 20 30", "cpu0 1 2 3 4 5 6 7 8",
                                      "cpu  1 2 3 4 5 6 7 18446744073709551615 0 0\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct host_cpu cpu = host_cpu_parse(bad[i], strlen(bad[i]), 100);
        ck_assert_int_eq(cpu.busy_ns | cpu.interrupts_ns | cpu.stolen_ns, 0);
    }
    static const char good[] = "cpu  10 20 30 40 50 60 70 250 0 0\n";
    ck_assert_int_eq(host_cpu_parse(good, strlen(good), 0).stolen_ns, 0);
}
END_TEST

static void spend(int64_t ns)
{
    for (int64_t end_ns = clock_cpu_ns() + ns; clock_cpu_ns() < end_ns;)
        ;
}

START_TEST(a_busy_process_is_found_in_the_list)
{
    enum { SPENT_MS = 200, TICKS_MS = 30 };
    struct process_list before = {0};
    struct process_list now = {0};
    uint64_t ticks = process_list_ticks();
    process_list_read(&before, 4096, NS_PER_S);
    spend(SPENT_MS * (int64_t)NS_PER_MS);
    process_list_read(&now, 4096, NS_PER_S);
    ck_assert(before.whole && now.whole);
    const struct listed_process *own = process_list_find(&now, getpid());
    ck_assert_ptr_nonnull(own);
    ck_assert_uint_eq(own->ppid, (uint64_t)getppid());
    ck_assert_ptr_null(process_list_find(&now, 0));
    int64_t used = process_list_used_ns(&before, &now, (size_t)(own - now.items), ticks);
    ck_assert_int_ge(used, (SPENT_MS - TICKS_MS) * (int64_t)NS_PER_MS);
    ck_assert_int_le(used, (SPENT_MS + 5 * TICKS_MS) * (int64_t)NS_PER_MS);
    process_list_release(&before);
    process_list_release(&now);
}
END_TEST

static struct listed_process process(uint64_t pid, uint64_t start_ticks, int64_t cpu_ns)
{
    return (struct listed_process){.pid = pid, .start_ticks = start_ticks, .cpu_ns = cpu_ns};
}

START_TEST(a_reused_pid_and_a_list_that_was_cut_are_told_apart)
{
    struct listed_process old[] = {process(10, 100, 5), process(12, 100, 7)};
    struct listed_process new[] = {process(10, 100, 9), process(11, 90, 3), process(12, 200, 2),
                                   process(13, 151, 4)};
    struct process_list before = {.items = old, .n = 2, .whole = false};
    struct process_list now = {.items = new, .n = 4, .whole = true};
    static const int64_t used[] = {4, -1, 2, 4};
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(process_list_used_ns(&before, &now, i, 150), used[i]);
    before.whole = true;
    ck_assert_int_eq(process_list_used_ns(&before, &now, 1, 150), 3);
}
END_TEST

START_TEST(a_list_has_a_bound)
{
    struct process_list few = {0};
    process_list_read(&few, 1, NS_PER_S);
    ck_assert_uint_eq(few.n, 1);
    ck_assert(!few.whole);
    process_list_read(&few, 4096, -1);
    ck_assert_uint_eq(few.n, 0);
    ck_assert(!few.whole);
    process_list_release(&few);
}
END_TEST

START_TEST(an_old_kernel_is_known_by_its_release)
{
    static const struct {
        const char *release;
        bool is_old;
    } cases[] = {
        {"4.18.0-553.el8_10.x86_64", false},
        {"4.17.19", true},
        {"4.9.0-19-amd64", true},
        {"3.10.0-1160.el7.x86_64", true},
        {"6.1.0-35-amd64", false},
        {"10.0", false},
        {"2.6.78", true},
        {"4.19", false},
        {"5.4-rc1", false},
        {"", false},
        {"4", false},
        {"a private kernel", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(host_kernel_is_old(cases[i].release) == cases[i].is_old, "%s",
                      cases[i].release);
}
END_TEST

CHECK_MAIN("host", 20, an_old_kernel_is_known_by_its_release, the_first_line_is_read,
           what_is_malformed_is_zero, a_busy_process_is_found_in_the_list,
           a_reused_pid_and_a_list_that_was_cut_are_told_apart, a_list_has_a_bound)
