#include "target/cpu_quota.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/text.h"
#include "target/scheduling.h"
#include "tests/support/check_main.h"

/* A tree of groups in a directory of its own. */
static char top[64];

static void write_file(const char *path, const char *name, const char *text)
{
    char *file = xasprintf("%s%s/%s", top, path, name);
    FILE *out = fopen(file, "we");
    ck_assert_ptr_nonnull(out);
    ck_assert_int_ge(fputs(text, out), 0);
    ck_assert_int_eq(fclose(out), 0);
    free(file);
}

static void make_group(const char *path)
{
    char *directory = xasprintf("%s%s", top, path);
    ck_assert(*path == '\0' || mkdir(directory, 0700) == 0);
    free(directory);
}

/* Version 2: PATH has a quota of MAX, and was throttled for USEC, in sum. */
static void set_unified(const char *path, const char *max, unsigned throttled, unsigned usec)
{
    char *stat = xasprintf("usage_usec 1\nnr_periods %u\nnr_throttled %u\nthrottled_usec %u\n",
                           throttled * 2, throttled, usec);
    write_file(path, "cpu.stat", stat);
    if (max)
        write_file(path, "cpu.max", max);
    free(stat);
}

static void set_local(const char *path, unsigned usec)
{
    char *stat = xasprintf("throttled_usec %u\n", usec);
    write_file(path, "cpu.stat.local", stat);
    free(stat);
}

static struct cpu_quota *open_quota(const char *type, const char *root, const char *cgroup,
                                    bool whole)
{
    char *mountinfo = xasprintf("35 24 0:30 %s %s rw,nosuid - %s cgroup rw%s\n", root, top, type,
                                str_eq(type, "cgroup") ? ",cpu,cpuacct" : "");
    struct cpu_quota *q = cpu_quota_open(mountinfo, cgroup, "", whole);
    free(mountinfo);
    return q;
}

static void make_top(void)
{
    (void)snprintf(top, sizeof top, "/tmp/wallspy-groups-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
}

static void remove_top(void)
{
    char *command = xasprintf("rm -r %s", top);
    ck_assert_int_eq(system(command), 0);
    free(command);
}

/* Is the quota of CPUS the one of PATH, LEVEL groups up? */
static void assert_quota(const struct cpu_quota_facts *f, double cpus, const char *path,
                         uint32_t level)
{
    char *directory = xasprintf("%s%s", top, path);
    ck_assert_double_eq_tol(f->cpus, cpus, 1e-9);
    ck_assert_str_eq(f->path, directory);
    ck_assert_uint_eq(f->level, level);
    free(directory);
}

START_TEST(the_tightest_of_nested_groups_is_found)
{
    make_group("/pod");
    make_group("/pod/job");
    set_unified("", NULL, 0, 0);
    set_unified("/pod", "50000 100000\n", 10, 1000);
    set_unified("/pod/job", "400000 100000\n", 0, 0);
    struct cpu_quota *q = open_quota("cgroup2", "/", "0::/pod/job\n", true);
    set_unified("/pod", "50000 100000\n", 30, 61000);
    cpu_quota_read(q);
    struct cpu_quota_facts f = cpu_quota_facts(q);
    ck_assert_int_eq(f.version, 2);
    ck_assert(!f.hidden);
    assert_quota(&f, 0.5, "/pod", 1);
    ck_assert_uint_eq(f.periods, 40);
    ck_assert_uint_eq(f.throttled_periods, 20);
    ck_assert_int_eq(f.throttled_ns, 60000000);
    ck_assert_int_eq(f.throttled_above_ns, -1);
    cpu_quota_free(q);
}
END_TEST

START_TEST(version_1_is_read)
{
    make_group("/b");
    write_file("/b", "cpu.cfs_quota_us", "20000\n");
    write_file("/b", "cpu.cfs_period_us", "100000\n");
    write_file("/b", "cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 5\n");
    write_file("", "cpu.cfs_quota_us", "-1\n");
    write_file("", "cpu.cfs_period_us", "100000\n");
    struct cpu_quota *q = open_quota("cgroup", "/", "4:cpu,cpuacct:/b\n0::/d\n", true);
    write_file("/b", "cpu.stat", "nr_periods 11\nnr_throttled 9\nthrottled_time 42000005\n");
    cpu_quota_read(q);
    struct cpu_quota_facts f = cpu_quota_facts(q);
    ck_assert_int_eq(f.version, 1);
    assert_quota(&f, 0.2, "/b", 0);
    ck_assert_uint_eq(f.periods, 10);
    ck_assert_uint_eq(f.throttled_periods, 8);
    ck_assert_int_eq(f.throttled_ns, 42000000);
    cpu_quota_free(q);
}
END_TEST

START_TEST(a_hidden_group_that_throttles_is_told)
{
    set_unified("", "max 100000\n", 0, 0);
    set_local("", 100);
    struct cpu_quota *q = open_quota("cgroup2", "/", "0::/\n", false);
    ck_assert(cpu_quota_facts(q).hidden);
    ck_assert_int_eq(cpu_quota_facts(q).throttled_above_ns, 0);
    set_local("", 2500100);
    cpu_quota_read(q);
    ck_assert_int_eq(cpu_quota_facts(q).throttled_above_ns, 2500000000);
    ck_assert_double_eq_tol(cpu_quota_facts(q).cpus, 0, 1e-9);
    ck_assert_str_eq(cpu_quota_facts(q).path, "");
    set_unified("", "50000 100000\n", 10, 2600000); /* its own quota explains it */
    cpu_quota_read(q);
    ck_assert_int_eq(cpu_quota_facts(q).throttled_above_ns, 0);
    cpu_quota_free(q);
}
END_TEST

START_TEST(a_mount_of_a_part_hides_groups)
{
    set_unified("", "max 100000\n", 0, 0);
    struct cpu_quota *q = open_quota("cgroup2", "/docker/c0ffee", "0::/docker/c0ffee\n", true);
    ck_assert(cpu_quota_facts(q).hidden);
    ck_assert_int_eq(cpu_quota_facts(q).version, 2);
    cpu_quota_free(q);
    q = open_quota("cgroup2", "/docker/c0ffee", "0::/docker/bead\n", true);
    ck_assert_int_eq(cpu_quota_facts(q).version, 0); /* the top is another container's group */
    cpu_quota_free(q);
}
END_TEST

START_TEST(what_a_removed_group_counted_stays)
{
    make_group("/job");
    set_unified("/job", "50000 100000\n", 10, 1000);
    struct cpu_quota *q = open_quota("cgroup2", "/", "0::/job\n", true);
    set_unified("/job", "50000 100000\n", 20, 3000);
    cpu_quota_read(q);
    remove_top();
    cpu_quota_read(q);
    ck_assert_int_eq(mkdir(top, 0700), 0);
    struct cpu_quota_facts f = cpu_quota_facts(q);
    assert_quota(&f, 0.5, "/job", 0);
    ck_assert_int_eq(f.throttled_ns, 2000000);
    cpu_quota_free(q);
}
END_TEST

START_TEST(nothing_is_known_of_nothing)
{
    struct cpu_quota *q = cpu_quota_open("", "", "", true);
    cpu_quota_read(q);
    struct cpu_quota_facts f = cpu_quota_facts(q);
    ck_assert_int_eq(f.version, 0);
    ck_assert_int_eq(f.throttled_ns, 0);
    ck_assert_int_eq(f.throttled_above_ns, -1);
    cpu_quota_look(q, getpid()); /* it is found after all, and counts from now on */
    ck_assert_int_eq(cpu_quota_facts(q).throttled_ns, 0);
    cpu_quota_free(q);
}
END_TEST

START_TEST(scheduling_is_what_was_set)
{
    struct scheduling s;
    cpu_set_t one;
    cpu_set_t all;
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    ck_assert_int_eq(scheduling_read(getpid(), &s), 0);
    ck_assert_uint_eq(s.cpus_main, (uint32_t)CPU_COUNT(&all));
    ck_assert_uint_eq(s.cpus_any, s.cpus_main);
    ck_assert_uint_eq(s.threads_pinned, 0);
    int nice_before = s.nice;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_int_ne(nice(1), -2);
    ck_assert_int_eq(sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}), 0);
    ck_assert_int_eq(scheduling_read(getpid(), &s), 0);
    ck_assert_uint_eq(s.cpus_main, 1);
    ck_assert_int_eq(s.nice, nice_before < 19 ? nice_before + 1 : 19);
    ck_assert_int_eq(s.policy, SCHED_BATCH);
    ck_assert_int_lt(scheduling_read(INT32_MAX, &s), 0);
}
END_TEST

CHECK_MAIN_WITH("cpu_quota", 20, make_top, remove_top, the_tightest_of_nested_groups_is_found,
                version_1_is_read, a_hidden_group_that_throttles_is_told,
                a_mount_of_a_part_hides_groups, what_a_removed_group_counted_stays,
                nothing_is_known_of_nothing, scheduling_is_what_was_set)
