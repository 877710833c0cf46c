#include "target/cgroup.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "tests/support/check_main.h"

/* As recorded: systemd's machine, Docker with a cgroup namespace and without, version 1 beside
 * 2. */
static const char unified[] =
    "24 30 0:22 / /proc rw,nosuid shared:12 - proc proc rw\n"
    "35 24 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 "
    "rw,nsdelegate,memory_recursiveprot\n";
static const char bound[] =
    "1243 1239 0:30 /docker/c0ffee /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n";
static const char hybrid[] =
    "32 31 0:29 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

static const char spaced[] =
    "1243 1239 0:30 /my\\040job\\134x /run/c\\040groups\\01 ro,nosuid - cgroup2 cgroup rw\n";

/* As one container sees what another has mounted. */
static const char beside[] = "1 0 0:30 /../one /sys/one rw - cgroup2 cgroup rw\n"
                             "2 0 0:30 /../two /sys/two rw - cgroup2 cgroup rw\n";

static void assert_directory(const char *mountinfo, const char *cgroup, const char *directory,
                             size_t top)
{
    struct cgroup_place place;
    ck_assert_int_eq(cgroup_find(mountinfo, cgroup, "cpu", &place), 0);
    ck_assert_str_eq(place.directory, directory);
    ck_assert_uint_eq(place.top, top);
}

START_TEST(the_groups_directory_is_found)
{
    assert_directory(unified, "0::/user.slice/user-1000.slice\n",
                     "/sys/fs/cgroup/user.slice/user-1000.slice", strlen("/sys/fs/cgroup"));
    assert_directory(unified, "0::/\n", "/sys/fs/cgroup", strlen("/sys/fs/cgroup"));
    assert_directory(bound, "0::/docker/c0ffee/job\n", "/sys/fs/cgroup/job",
                     strlen("/sys/fs/cgroup"));
    assert_directory(bound, "0::/docker/c0ffee\n", "/sys/fs/cgroup", strlen("/sys/fs/cgroup"));
    assert_directory(bound, "0::/docker/c0ffee2\n", "/sys/fs/cgroup", strlen("/sys/fs/cgroup"));
    assert_directory(unified, "0::/../../outside\n", "/sys/fs/cgroup", strlen("/sys/fs/cgroup"));
    assert_directory(spaced, "0::/my job\\x/a b\n", "/run/c groups\\01/a b",
                     strlen("/run/c groups\\01"));
    assert_directory(hybrid, "4:cpuset:/a\n2:cpu,cpuacct:/b\n1:name=systemd:/c\n0::/d\n",
                     "/sys/fs/cgroup/cpu,cpuacct/b", strlen("/sys/fs/cgroup/cpu,cpuacct"));
    assert_directory(hybrid, "4:cpuset:/a\n1:name=systemd:/c\n0::/d\n", "/sys/fs/cgroup/unified/d",
                     strlen("/sys/fs/cgroup/unified"));
}
END_TEST

START_TEST(what_is_no_group_is_none)
{
    struct cgroup_place place;
    static const char *const mountinfos[] = {"", "\n", "1 2\n - cgroup2\n", hybrid + 200};
    for (size_t i = 0; i < sizeof mountinfos / sizeof *mountinfos; i++)
        ck_assert_int_eq(cgroup_find(mountinfos[i], "7:cpu:/a\n", "cpu", &place), -ENOENT);
    ck_assert_int_eq(cgroup_find(unified, "", "cpu", &place), -ENOENT);
    ck_assert_int_eq(cgroup_find(unified, "0\n:\n3:pids:/a", "cpu", &place), -ENOENT);
    struct text longer = {0};
    text_add(&longer, "0::/");
    for (int i = 0; i < PATH_MAX - 8; i++)
        text_add(&longer, "a");
    ck_assert_int_eq(cgroup_find(unified, longer.s, "cpu", &place), -ENAMETOOLONG);
    text_release(&longer);
}
END_TEST

START_TEST(a_group_out_of_sight_is_told)
{
    static const struct {
        const char *mountinfo, *cgroup;
        bool exact, part;
        int version;
    } cases[] = {
        {unified, "0::/a", true, false, 2},         {unified, "0::/../a", false, false, 2},
        {unified, "0::/..a", true, false, 2},       {bound, "0::/docker/c0ffee/a", true, true, 2},
        {bound, "0::/docker/bead", false, true, 2}, {hybrid, "2:cpu,cpuacct:/b", true, false, 1},
        {beside, "0::/../two/x", true, true, 2},
    };
    struct cgroup_place place;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(cgroup_find(cases[i].mountinfo, cases[i].cgroup, "cpu", &place), 0);
        ck_assert_int_eq(place.exact, cases[i].exact);
        ck_assert_int_eq(place.part, cases[i].part);
        ck_assert_int_eq(place.version, cases[i].version);
    }
    ck_assert_str_eq(place.directory, "/sys/two/x");
    ck_assert(cgroup_go_up(&place));
    ck_assert_str_eq(place.directory, "/sys/two");
    ck_assert(!cgroup_go_up(&place));
    ck_assert_str_eq(place.directory, "/sys/two");
}
END_TEST

static void assert_stat(const char *text, uint64_t elapsed, uint64_t periods, uint64_t ns)
{
    struct throttled t = cgroup_parse_stat(text, strlen(text));
    ck_assert_uint_eq(t.elapsed, elapsed);
    ck_assert_uint_eq(t.periods, periods);
    ck_assert_uint_eq(t.ns, ns);
}

START_TEST(both_versions_of_cpu_stat_are_read)
{
    assert_stat("usage_usec 1500\nuser_usec 900\nsystem_usec 600\nnr_periods 12\nnr_throttled 7\n"
                "throttled_usec 250000\nnr_bursts 0\nburst_usec 0\n",
                12, 7, 250000000);
    assert_stat("nr_periods 12\nnr_throttled 3\nthrottled_time 42000000\n", 12, 3, 42000000);
    assert_stat("usage_usec 1500\nuser_usec 900\nsystem_usec 600\n", 0, 0, 0);
    assert_stat("nr_throttled x\nthrottled_usec 1", 0, 0, 1000);
    assert_stat("", 0, 0, 0);
}
END_TEST

START_TEST(the_quota_is_read)
{
    static const struct {
        const char *text;
        double cpus;
    } cases[] = {{"20000 100000\n", 0.2},
                 {"400000\n100000\n", 4},
                 {"max 100000\n", 0},
                 {"-1\n100000\n", 0},
                 {"20000 0\n", 0},
                 {"20000", 0},
                 {"", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_double_eq_tol(cgroup_parse_max(cases[i].text, strlen(cases[i].text)),
                                cases[i].cpus, 1e-9);
}
END_TEST

CHECK_MAIN("cgroup", 20, the_quota_is_read, a_group_out_of_sight_is_told,
           the_groups_directory_is_found, what_is_no_group_is_none,
           both_versions_of_cpu_stat_are_read)
