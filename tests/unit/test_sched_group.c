#include "target/sched_group.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/text.h"
#include "tests/support/check_main.h"

/* A tree of groups in a directory of its own. */
static char top[64];

static void make(const char *path, bool weight)
{
    char *directory = xasprintf("%s%s", top, path);
    char *file = xasprintf("%s/cpu.weight", directory);
    ck_assert(*path == '\0' || mkdir(directory, 0700) == 0);
    int fd = weight ? open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    ck_assert(!weight || fd >= 0);
    if (fd >= 0)
        close(fd);
    free(file);
    free(directory);
}

static enum sched_apart judge(const char *type, const char *root, const char *mine, const char *its,
                              bool same_session)
{
    char *mountinfo = xasprintf("35 24 0:30 %s %s rw,nosuid - %s cgroup rw%s\n", root, top, type,
                                str_eq(type, "cgroup") ? ",cpu,cpuacct" : "");
    const struct sched_group_texts a = {mine, "/autogroup-17 nice 0\n"};
    const struct sched_group_texts b = {its, same_session ? "/autogroup-17 nice 3\n"
                                                          : "/autogroup-170 nice 0\n"};
    enum sched_apart apart = sched_group_judge(mountinfo, &a, &b);
    free(mountinfo);
    return apart;
}

static void set_up(void)
{
    (void)snprintf(top, sizeof top, "/tmp/wallspy-groups-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    make("", false);
    make("/weighed", true);
    make("/weighed/deep", false);
    make("/weighed/other", true);
    make("/plain", false);
}

static void tear_down(void)
{
    char *command = xasprintf("rm -r %s", top);
    ck_assert_int_eq(system(command), 0);
    free(command);
}

START_TEST(a_group_counts_where_the_controller_is_on)
{
    ck_assert_int_eq(judge("cgroup2", "/", "0::/weighed\n", "0::/weighed\n", false),
                     SCHED_TOGETHER);
    ck_assert_int_eq(judge("cgroup2", "/", "0::/weighed\n", "0::/weighed/deep\n", false),
                     SCHED_TOGETHER);
    ck_assert_int_eq(judge("cgroup2", "/", "0::/weighed\n", "0::/weighed/other\n", true),
                     SCHED_OTHER_CGROUP);
    ck_assert_int_eq(judge("cgroup2", "/", "0::/plain\n", "0::/weighed\n", true),
                     SCHED_OTHER_CGROUP);
    ck_assert_int_eq(judge("cgroup2", "/", "0::/plain\n", "0::/\n", true), SCHED_TOGETHER);
}
END_TEST

START_TEST(sessions_count_in_the_root_alone)
{
    ck_assert_int_eq(judge("cgroup2", "/", "0::/plain\n", "0::/\n", false), SCHED_OTHER_SESSION);
    ck_assert_int_eq(judge("cgroup2", "/part", "0::/part\n", "0::/part\n", false), SCHED_TOGETHER);
    ck_assert_int_eq(judge("cgroup", "/", "3:pids:/a\n1:cpu:/\n", "1:cpu:/\n", false),
                     SCHED_OTHER_SESSION);
    ck_assert_int_eq(judge("cgroup", "/", "1:cpu:/\n", "1:cpu:/\n", true), SCHED_TOGETHER);
}
END_TEST

START_TEST(version_1_has_its_own_groups)
{
    ck_assert_int_eq(judge("cgroup", "/", "1:cpu:/plain\n0::/x\n", "1:cpu:/plain\n0::/y\n", false),
                     SCHED_TOGETHER);
    ck_assert_int_eq(judge("cgroup", "/", "1:cpu:/plain\n", "1:cpu:/\n", true), SCHED_OTHER_CGROUP);
}
END_TEST

START_TEST(groups_out_of_sight_are_told_by_name)
{
    ck_assert_int_eq(judge("cgroup2", "/", "0::/\n", "0::/../other\n", true), SCHED_OTHER_CGROUP);
    ck_assert_int_eq(judge("ext4", "/", "0::/a\n", "0::/a\n", false), SCHED_TOGETHER);
    ck_assert_int_eq(judge("ext4", "/", "0::/a\n", "0::/b\n", false), SCHED_OTHER_CGROUP);
}
END_TEST

START_TEST(a_process_is_with_itself)
{
    ck_assert_int_eq(sched_group_compare(getpid()), SCHED_TOGETHER);
}
END_TEST

CHECK_MAIN_WITH("sched_group", 20, set_up, tear_down, a_group_counts_where_the_controller_is_on,
                sessions_count_in_the_root_alone, version_1_has_its_own_groups,
                groups_out_of_sight_are_told_by_name, a_process_is_with_itself)
