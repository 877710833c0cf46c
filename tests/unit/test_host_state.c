#include "target/host_state.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/support/check_main.h"
#include "worker/machine_environment.h"

/* As a machine with two nodes has it (Linux 6.1, shortened). */
static const char vmstat[] = "nr_free_pages 112233\n"
                             "numa_hit 446219864\n"
                             "numa_local 446219864\n"
                             "pswpin 1200\n"
                             "pswpout 340\n"
                             "pgfault 99999999\n"
                             "pgmajfault 4711\n"
                             "numa_pte_updates 1810432\n"
                             "numa_huge_pte_updates 12\n"
                             "numa_hint_faults 1500321\n"
                             "numa_hint_faults_local 900123\n"
                             "numa_pages_migrated 600100\n"
                             "thp_fault_alloc 5\n";

START_TEST(counts_of_paging_are_found_by_their_whole_names)
{
    struct host_paging p = host_paging_parse(vmstat, strlen(vmstat));
    ck_assert(p.swap_known && p.numa_known);
    ck_assert_uint_eq(p.swap_ins, 1200);
    ck_assert_uint_eq(p.swap_outs, 340);
    ck_assert_uint_eq(p.numa_marked, 1810432);
    ck_assert_uint_eq(p.numa_faults, 1500321);
    ck_assert_uint_eq(p.numa_faults_local, 900123);
    ck_assert_uint_eq(p.numa_moved, 600100);
}
END_TEST

START_TEST(counts_that_are_not_there_are_not_known)
{
    static const char without_numa[] = "pswpin 0\npswpout 0\n";
    struct host_paging p = host_paging_parse(without_numa, strlen(without_numa));
    ck_assert(p.swap_known && !p.numa_known);
    static const char *const bad[] = {"", "pswpin\npswpout\n", "pswpin 18446744073709551616\n",
                                      "pswpin -1\npswpout 2\n", "xpswpin 1\nxpswpout 2\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert(!host_paging_parse(bad[i], strlen(bad[i])).swap_known);
    /* Cut within the last number: it would be too small. */
    ck_assert(!host_paging_parse(vmstat, strlen("nr_free_pages 112233\nnuma_hit 446219864\n"
                                                "numa_local 446219864\npswpin 1200\npswpout 34"))
                   .swap_known);
}
END_TEST

START_TEST(pressure_is_read_of_both_kinds)
{
    static const char memory[] = "some avg10=0.22 avg60=0.17 avg300=1.11 total=58761459\n"
                                 "full avg10=0.23 avg60=0.16 avg300=1.08 total=58464525\n";
    struct host_pressure p = host_pressure_parse(memory, strlen(memory));
    ck_assert(p.known);
    ck_assert_int_eq(p.some_ns, INT64_C(58761459) * NS_PER_US);
    ck_assert_int_eq(p.full_ns, INT64_C(58464525) * NS_PER_US);
    static const char cpu[] = "some avg10=9.00 avg60=4.00 avg300=1.00 total=77\n";
    p = host_pressure_parse(cpu, strlen(cpu)); /* before Linux 5.13 */
    ck_assert(p.known);
    ck_assert_int_eq(p.some_ns, INT64_C(77) * NS_PER_US);
    ck_assert_int_eq(p.full_ns, 0);
    static const char *const bad[] = {"",
                                      "some avg10=0.00",
                                      "some total=\n",
                                      "full total=5\n",
                                      "awesome total=5\n",
                                      "some total=9223372036854775807\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!host_pressure_parse(bad[i], strlen(bad[i])).known, "%s", bad[i]);
}
END_TEST

START_TEST(the_choice_stands_in_brackets)
{
    static const struct {
        const char *text, *word;
    } cases[] = {
        {"always [madvise] never\n", "madvise"},
        {"always defer defer+madvise madvise [never]\n", "never"},
        {"always madvise never\n", ""},
        {"always [madvise", ""},
        {"", ""},
        {"[a b]", ""},
        {"[\033]", ""},
        {"[0123456789012345678901234567890123456789012345678901234567890123]", ""},
    };
    char word[HOST_WORDS_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        host_choice_parse(cases[i].text, strlen(cases[i].text), word);
        ck_assert_str_eq(word, cases[i].word);
    }
}
END_TEST

START_TEST(lists_of_nodes_are_counted)
{
    static const struct {
        const char *text;
        uint32_t n;
    } cases[] = {{"0\n", 1},   {"0-3\n", 4}, {"0-3,8,10-11\n", 7}, {"", 0},  {"\n", 0},
                 {"3-1\n", 0}, {"0-", 0},    {"0-4294967295", 0},  {"0,", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_uint_eq(host_list_parse(cases[i].text, strlen(cases[i].text)), cases[i].n);
}
END_TEST

START_TEST(starts_are_counted)
{
    static const char stat[] = "cpu  1 2 3\nintr 114930548 0 0\nctxt 1990473\nbtime 1062191376\n"
                               "processes 2915\nprocs_running 1\n";
    static const char cut[] = "ctxt 1990473\nprocesses 29";
    uint64_t n;
    ck_assert(host_starts_parse(stat, strlen(stat), &n));
    ck_assert_uint_eq(n, 2915);
    ck_assert(!host_starts_parse(cut, strlen(cut), &n));
}
END_TEST

START_TEST(swapped_memory_is_read_of_a_status)
{
    static const char status[] = "Name:\tapp\nVmPeak:\t    9000 kB\nVmSwap:\t    1204 kB\n"
                                 "HugetlbPages:\t       0 kB\n";
    static const char kernel_thread[] = "Name:\tkworker\nThreads:\t1\n";
    static const char cut[] = "VmSwap:\t    12";
    ck_assert_int_eq(host_swapped_parse(status, strlen(status)), INT64_C(1204) * 1024);
    ck_assert_int_eq(host_swapped_parse(kernel_thread, strlen(kernel_thread)), -1);
    ck_assert_int_eq(host_swapped_parse(cut, strlen(cut)), -1);
    ck_assert_int_ge(host_swapped_bytes(getpid()), 0);
    ck_assert_int_eq(host_swapped_bytes(INT32_MAX), -1);
}
END_TEST

/* What rose, and what fell because the machine's counters are those of another one now. */
START_TEST(a_card_has_the_differences)
{
    struct profile *p = profile_new(0);
    struct host_setup setup = {.governor = "performance", .numa_balancing = 1, .numa_nodes = 2};
    struct host_state first = {.load = 1.5,
                               .memory_pressure = {.known = true, .some_ns = 10, .full_ns = 9},
                               .paging = {.swap_known = true, .swap_ins = 5, .swap_outs = 9}};
    struct host_state last = {.load = 2.5,
                              .starts_known = true,
                              .memory_pressure = {.known = true, .some_ns = 30, .full_ns = 2},
                              .cpu_pressure = {.known = true, .some_ns = 30},
                              .paging = {.swap_known = true, .numa_known = true, .swap_ins = 8}};
    struct profile_machine m = machine_environment_of(p, &setup, &first, &last);
    ck_assert(m.known && m.swap_known && !m.numa_known && m.memory_pressure.known);
    ck_assert(!m.starts_known);
    ck_assert(!m.cpu_pressure.known && !m.huge_pages.ix);
    ck_assert_str_eq(profile_text(p, m.governor), "performance");
    ck_assert_uint_eq(m.swap_ins, 3);
    ck_assert_uint_eq(m.swap_outs, 0);
    ck_assert_int_eq(m.memory_pressure.some_ns, 20);
    ck_assert_int_eq(m.memory_pressure.full_ns, 0);
    ck_assert_double_eq(m.load_first, 1.5);
    ck_assert_double_eq(m.load_last, 2.5);
    profile_free(p);
}
END_TEST

/* Each of these files may be missing here; what is read must be sane. */
START_TEST(this_machine_is_read)
{
    struct profile *p = profile_new(0);
    struct host_state first = host_state_read();
    ck_assert(first.starts_known == (access("/proc/stat", R_OK) == 0));
    ck_assert(first.paging.swap_known == (access("/proc/vmstat", R_OK) == 0));
    ck_assert(first.memory_pressure.known == (access("/proc/pressure/memory", R_OK) == 0));
    ck_assert(first.load >= 0);
    struct host_state last = host_state_read();
    struct profile_machine m = machine_environment(p, &first, &last);
    ck_assert_uint_ge(m.numa_nodes, access("/sys/devices/system/node/has_memory", R_OK) == 0);
    ck_assert((m.huge_pages.ix != 0) ==
              (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) == 0));
    ck_assert((m.numa_balancing >= 0) == (access("/proc/sys/kernel/numa_balancing", R_OK) == 0));
    profile_free(p);
}
END_TEST

CHECK_MAIN("host_state", 20, counts_of_paging_are_found_by_their_whole_names,
           counts_that_are_not_there_are_not_known, pressure_is_read_of_both_kinds,
           the_choice_stands_in_brackets, lists_of_nodes_are_counted, starts_are_counted,
           swapped_memory_is_read_of_a_status, a_card_has_the_differences, this_machine_is_read)
