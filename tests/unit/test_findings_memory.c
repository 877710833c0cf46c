/* Findings about memory that is elsewhere, and about two OpenMP runtimes. */
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

static thread_id lead;

static void setup(void)
{
    b = builder_start(10, "app");
    lead = builder_thread(&b, 10, NULL);
}

/* ---- NUMA balancing ---- */

/* Main runs, and takes MINOR faults, while the machine has HINTS and MOVED pages, in 4 s. */
static void balances(int mode, uint64_t minor, uint64_t hints, uint64_t moved)
{
    setup();
    builder_run(&b, lead, "step!app|/src/a.c:9 > sum!app|/src/a.c:3", 4000, 4000);
    profile_get_thread(b.p, lead)->usage = (struct profile_usage){.over_ns = 4000L * NS_PER_MS,
                                                                  .user_ns = 2000L * NS_PER_MS,
                                                                  .system_ns = 2000L * NS_PER_MS,
                                                                  .minor_faults = minor};
    *profile_get_host(b.p) = (struct profile_host){.over_ns = 4000L * NS_PER_MS,
                                                   .machine = {.known = true,
                                                               .numa_known = true,
                                                               .numa_balancing = mode,
                                                               .numa_faults = hints,
                                                               .numa_moved = moved}};
    judge(4000);
}

START_TEST(numa_balancing_is_told_where_the_faults_rise_with_it)
{
    balances(1, 60000, 56000, 20000);
    assert_told(0, "numa_balancing",
                "main takes 15,000 minor page faults a second. Meanwhile the kernel's NUMA "
                "balancing caused 14,000 on this machine and moved 5,000 pages a second between "
                "nodes: pin it (numactl), or set kernel.numa_balancing=0.");
    assert_not_told("page_faults");
    teardown();
}
END_TEST

START_TEST(numa_balancing_is_no_finding_elsewhere)
{
    static const struct {
        int mode;
        uint64_t minor, hints;
    } cases[] = {
        {0, 60000, 56000}, /* switched off: counts of before */
        {1, 60000, 7000},  /* few */
        {1, 60000, 20000}, /* most faults of main are others */
        {1, 12000, 56000}, /* most of the machine's are of other programs */
        {-1, 60000, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        balances(cases[i].mode, cases[i].minor, cases[i].hints, 1000);
        assert_not_told("numa_balancing");
        teardown();
    }
}
END_TEST

/* ---- major faults ---- */

/* Main waits WAITS_MS of 4 s for pages, and takes MAJOR faults; the machine swaps IN pages in. */
static void pages(int64_t waits_ms, uint64_t major, uint64_t in, int64_t swapped)
{
    setup();
    builder_run(&b, lead, "step!app|/src/a.c:9 > sum!app|/src/a.c:3 > [page fault]", waits_ms, 0);
    builder_run(&b, lead, "step!app|/src/a.c:9", 4000 - waits_ms, 4000 - waits_ms);
    profile_get_thread(b.p, lead)->usage =
        (struct profile_usage){.over_ns = 4000L * NS_PER_MS, .major_faults = major};
    struct profile_process *process = profile_get_process(b.p, b.process);
    process->swapped_known = true;
    process->swapped_last = swapped;
    *profile_get_host(b.p) =
        (struct profile_host){.over_ns = 4000L * NS_PER_MS,
                              .machine = {.known = true, .swap_known = true, .swap_ins = in}};
    judge(4000);
}

/* Used and reached, of a limit of 1000 MB. */
static void limited(uint64_t used_mb, uint64_t reached)
{
    setup();
    profile_get_process(b.p, b.process)->memory_limit =
        (struct profile_memory_limit){1000000000, used_mb * 1000000, reached, {0}};
    builder_run(&b, lead, "sum!app|/src/a.c:3 > [page fault]", 3000, 0);
    builder_run(&b, lead, "sum!app|/src/a.c:3", 1000, 1000);
    profile_get_thread(b.p, lead)->usage =
        (struct profile_usage){.over_ns = 4000L * NS_PER_MS, .major_faults = 3600};
    *profile_get_host(b.p) = (struct profile_host){.over_ns = 4000L * NS_PER_MS,
                                                   .machine = {.known = true, .swap_known = true}};
    judge(4000);
}

START_TEST(a_cgroup_at_its_memory_limit_reads_pages_again)
{
    limited(995, 1234);
    assert_told(0, "major_faults",
                "900 major page faults a second. Its cgroup may use 1.0 GB of memory and ran "
                "against that 1,200 times: the kernel drops its pages and reads them again. Raise "
                "the memory limit.");
    teardown();
    for (int i = 0; i < 2; i++) { /* far from it; or never there */
        limited(i ? 995 : 300, i ? 0 : 1234);
        assert_told(0, "major_faults", "No swap-ins");
        teardown();
    }
}
END_TEST

START_TEST(pages_from_swap_and_from_files_are_told_apart)
{
    pages(2400, 3600, 14400, INT64_C(1200000000));
    assert_told(0, "major_faults",
                "main waits 60% of its time for pages from a disk, most in sum a.c:3, called from "
                "step a.c:9: 900 major page faults a second. The machine swapped in 3,600 pages a "
                "second; 1.2 GB of app is swapped out: it lacks memory.");
    teardown();
    pages(2400, 3600, 0, 0);
    assert_told(0, "major_faults",
                "900 major page faults a second. No swap-ins: the pages are from mapped files.");
    teardown();
    pages(2400, 100, 0, 0); /* few, of a slow disk: it is the time that counts */
    assert_told(0, "major_faults", "main waits 60% of its time for pages from a disk");
    teardown();
    pages(2400, 3600, 4, 0); /* another program's page: nothing is said of where from */
    assert_told(0, "major_faults", "900 major page faults a second.");
    ck_assert(!strstr(found.printed[0]->words, "swapped"));
    teardown();
}
END_TEST

/* A fast disk: main is off the CPU for half of the time, and samples hardly found it there. */
START_TEST(a_storm_of_short_waits_is_told_by_the_kernels_counts)
{
    setup();
    builder_run(&b, lead, "step!app|/src/a.c:9 > sum!app|/src/a.c:3", 4000, 2000);
    profile_get_thread(b.p, lead)->usage =
        (struct profile_usage){.over_ns = 4000L * NS_PER_MS, .major_faults = 40000};
    judge(4000);
    assert_told(0, "major_faults",
                "main takes 10,000 major page faults a second, most in sum a.c:3, called from "
                "step a.c:9, which block it for 50% of its time.");
    teardown();
}
END_TEST

/* Samples found some of its waits, which end it thousands of times a second: the kernel's count of
 * that stands for all, and says it once. */
START_TEST(short_waits_that_samples_found_in_part_are_told_whole)
{
    setup();
    builder_run(&b, lead, "step!app|/src/a.c:9 > sum!app|/src/a.c:3 > [page fault]", 480, 0);
    builder_run(&b, lead, "step!app|/src/a.c:9 > sum!app|/src/a.c:3", 3520, 2000);
    profile_get_thread(b.p, lead)->runs[0].weights.events.put_on_cpu = 10000;
    profile_get_thread(b.p, lead)->usage = (struct profile_usage){.over_ns = 4000L * NS_PER_MS,
                                                                  .system_ns = 1900L * NS_PER_MS,
                                                                  .voluntary = 40000,
                                                                  .major_faults = 40000};
    judge(4000);
    assert_told(0, "major_faults",
                "main takes 10,000 major page faults a second, most in sum a.c:3, called from "
                "step a.c:9, which block it for 50% of its time.");
    assert_not_told("switches");
    teardown();
}
END_TEST

START_TEST(few_pages_from_a_disk_are_no_finding)
{
    pages(200, 3600, 14400, 0); /* hardly waits */
    assert_not_told("major_faults");
    teardown();
    pages(2400, 4, 100, 0); /* waits for pages that a program serves: no major faults */
    assert_not_told("major_faults");
    teardown();
}
END_TEST

/* ---- two OpenMP runtimes ---- */

static void add_worker(pid_t tid, const char *library, int64_t runs_ms, int64_t spins_ms)
{
    struct text stack = {0};
    thread_id worker = builder_thread(&b, tid, NULL);
    text_addf(&stack, "start_thread!libc.so.6 > 0x7f0010!%s > f._omp_fn.0!app", library);
    if (runs_ms)
        builder_run(&b, worker, stack.s, runs_ms, runs_ms);
    text_clear(&stack);
    text_addf(&stack, "start_thread!libc.so.6 > 0x7f0010!%s", library);
    if (spins_ms)
        builder_run(&b, worker, stack.s, spins_ms, spins_ms);
    text_add(&stack, " > futex [blocked]");
    if (runs_ms + spins_ms < 4000)
        builder_run(&b, worker, stack.s, 4000 - runs_ms - spins_ms, 0);
    text_release(&stack);
}

START_TEST(two_openmp_runtimes_are_told_where_both_run)
{
    setup();
    builder_run(&b, lead, "main!app", 4000, 4000);
    for (pid_t tid = 11; tid < 14; tid++)
        add_worker(tid, "libgomp.so.1", 400, 800);
    add_worker(14, "libomp.so.5", 0, 1200);
    judge(4000);
    static const char words[] =
        "3 threads of libgomp.so.1 and 1 of libomp.so.5, two OpenMP runtimes, used 0.9 and 0.3 "
        "CPUs, 75% of that spinning. Load one of them only; OMP_WAIT_POLICY=passive lets idle "
        "threads sleep.";
    bool told = false;
    for (size_t i = 0; i < found.n_printed; i++)
        told |= strcmp(found.printed[i]->words, words) == 0;
    ck_assert_msg(told, "%s", found.printed[0]->words);
    teardown();
}
END_TEST

START_TEST(a_runtime_that_sleeps_is_none_too_many)
{
    setup();
    builder_run(&b, lead, "main!app > omp_get_wtime!libomp.so.5", 4000, 4000);
    add_worker(11, "libgomp.so.1", 400, 800);
    add_worker(12, "libomp.so.5", 0, 0);
    judge(4000);
    assert_not_told("openmp_runtimes");
    teardown();
    setup(); /* in another process */
    builder_run(&b, lead, "main!app", 4000, 4000);
    add_worker(11, "libgomp.so.1", 400, 800);
    builder_process(&b, 20, "other", NULL);
    add_worker(21, "libomp.so.5", 400, 800);
    judge(4000);
    assert_not_told("openmp_runtimes");
    teardown();
}
END_TEST

/* In a region its part of the loop is too large; in code of one thread only that works alone. */
START_TEST(who_works_while_openmp_threads_spin_is_told)
{
    static const char *const works[] = {
        "sweep!app > GOMP_parallel!libgomp.so.1 > sweep._omp_fn.0!app|/src/a.c:9",
        "sort_edges!app|/src/a.c:20"};
    for (size_t i = 0; i < 2; i++) {
        setup();
        builder_run(&b, lead, works[i], 4000, 4000);
        add_worker(11, "libgomp.so.1", 800, 3200);
        judge(4000);
        bool told = false, uneven = false;
        for (size_t k = 0; k < found.n_printed; k++) {
            const char *words = found.printed[k]->words;
            told |= strstr(words, i ? "Meanwhile main is 100% in sort_edges a.c:20."
                                    : "Meanwhile main is 100% in GOMP_parallel > sweep._omp_fn.0 "
                                      "a.c:9. If its part of the loop is larger") != NULL;
            uneven |= strstr(words, "schedule(dynamic)") != NULL;
        }
        ck_assert_msg(told, "%s", found.printed[0]->words);
        ck_assert_int_eq(uneven, i == 0);
        teardown();
    }
}
END_TEST

CHECK_MAIN("findings_memory", 20, numa_balancing_is_told_where_the_faults_rise_with_it,
           numa_balancing_is_no_finding_elsewhere, a_cgroup_at_its_memory_limit_reads_pages_again,
           pages_from_swap_and_from_files_are_told_apart,
           a_storm_of_short_waits_is_told_by_the_kernels_counts,
           short_waits_that_samples_found_in_part_are_told_whole,
           few_pages_from_a_disk_are_no_finding, who_works_while_openmp_threads_spin_is_told,
           two_openmp_runtimes_are_told_where_both_run, a_runtime_that_sleeps_is_none_too_many)
