#include "cli/environment.h"

#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static struct text said;

static const char *card(struct profile_builder *b, int width)
{
    struct view_options options = {0};
    struct groups groups;
    profile_end(b->p, INT64_C(4000) * NS_PER_MS);
    text_clear(&said);
    text_add(&said, "");
    groups_init(&groups, b->p, &options);
    environment_write(&groups, width, &said);
    groups_release(&groups);
    profile_free(b->p);
    return said.s;
}

static void set_machine(struct profile *p)
{
    profile_set_text(p, "host", "web1");
    profile_set_text(p, "kernel", "6.1.0-35-amd64");
    *profile_get_host(p) = (struct profile_host){
        .over_ns = INT64_C(4000) * NS_PER_MS,
        .cpus_online = 8,
        .machine = {.known = true,
                    .governor = profile_string(p, "powersave"),
                    .huge_pages = profile_string(p, "madvise"),
                    .huge_pages_defrag = profile_string(p, "defer"),
                    .numa_nodes = 2,
                    .numa_balancing = 1,
                    .load_first = 1.25,
                    .load_last = 3,
                    .memory_pressure = {.known = true,
                                        .some_ns = INT64_C(400) * NS_PER_MS,
                                        .full_ns = INT64_C(200) * NS_PER_MS},
                    .swap_known = true,
                    .swap_ins = 17,
                    .numa_known = true,
                    .numa_faults = 1200,
                    .numa_moved = 300},
    };
}

START_TEST(the_machine_and_its_processes_are_told)
{
    struct profile_builder b = builder_start(10, "app");
    builder_process(&b, 10, "app", "OMP_NUM_THREADS=4 LD_PRELOAD=/usr/lib/libjemalloc.so.2");
    set_machine(b.p);
    struct profile_process *process = profile_get_process(b.p, b.process);
    process->allocator = profile_string(b.p, "jemalloc (preloaded)");
    process->openmp = profile_string(b.p, "libgomp");
    process->swapped_known = true;
    process->swapped_last = 2500000;
    process->cpu_limits =
        (struct profile_cpu_limits){.known = true, .cpus_main = 4, .quota_cpus = 0.5, .nice = 5};
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 4000, 4000);
    for (pid_t tid = 11; tid < 14; tid++)
        builder_run(&b, builder_thread(&b, tid, NULL),
                    "start_thread!libc.so.6 > gomp_thread_start!libgomp.so.1", 4000, 4000);
    const char *text = card(&b, 79);
    static const char *const lines[] = {
        "\n  environment\n"
        "  web1, Linux 6.1.0-35-amd64, 8 CPUs, governor powersave, load 1.2, at the end\n"
        "    3.0\n"
        "  huge pages madvise, defrag defer, 2 NUMA nodes, NUMA balancing on: 1200\n"
        "    faults, 300 pages moved\n"
        "  tasks waited for memory 10.0% of the time (all of them 5.0%), 17 pages\n"
        "    swapped in, 0 out\n",
        "  10 app, may use 4 CPUs, a quota of 0.5 CPU, nice 5, allocator jemalloc\n"
        "    (preloaded), OpenMP libgomp, 3 threads of libgomp.so.1, 2.5 MB swapped out\n"
        "    OMP_NUM_THREADS=4 LD_PRELOAD=/usr/lib/libjemalloc.so.2\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_msg(strstr(text, lines[i]), "%s", text);
}
END_TEST

/* Names are the target's: nothing in them is an order to the terminal. */
START_TEST(what_is_not_known_is_not_told)
{
    struct profile_builder b = builder_start(10, "a\033[2Jb");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 4000, 4000);
    *profile_get_host(b.p) = (struct profile_host){
        .over_ns = 1,
        .cpus_online = 1,
        .machine = {.known = true, .numa_balancing = -1, .load_first = -1, .load_last = -1}};
    ck_assert_str_eq(card(&b, 79), "\n  environment\n  1 CPU\n  10 a?[2Jb\n");
    b = builder_start(10, "app");
    ck_assert_str_eq(card(&b, 79), "");
}
END_TEST

CHECK_MAIN("card", 20, the_machine_and_its_processes_are_told, what_is_not_known_is_not_told)
