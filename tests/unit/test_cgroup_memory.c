#include "target/cgroup_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/text.h"
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

static void setup(void)
{
    (void)snprintf(top, sizeof top, "/tmp/wallspy-memory-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    for (const char *const *path = (const char *const[]){"/a", "/a/b", NULL}; *path; path++) {
        char *directory = xasprintf("%s%s", top, *path);
        ck_assert_int_eq(mkdir(directory, 0700), 0);
        free(directory);
    }
}

static void teardown(void)
{
    char *command = xasprintf("rm -r %s", top);
    ck_assert_int_eq(system(command), 0);
    free(command);
}

/* The group /a/b. */
static struct cgroup_memory *open_groups(const char *type, const char *cgroup)
{
    char *mountinfo = xasprintf("35 24 0:30 / %s rw,nosuid - %s cgroup rw%s\n", top, type,
                                str_eq(type, "cgroup") ? ",memory" : "");
    struct cgroup_memory *m = cgroup_memory_open(mountinfo, cgroup, "");
    free(mountinfo);
    return m;
}

static void assert_facts(const struct cgroup_memory *m, uint64_t limit, uint64_t used,
                         uint64_t reached, const char *path)
{
    struct cgroup_memory_facts f = cgroup_memory_facts(m);
    ck_assert_uint_eq(f.limit_bytes, limit);
    ck_assert_uint_eq(f.used_bytes, used);
    ck_assert_uint_eq(f.reached, reached);
    ck_assert(limit ? str_ends(f.path, path) : str_eq(f.path, ""));
}

START_TEST(the_group_that_ran_against_its_limit_is_told)
{
    write_file("/a", "memory.current", "900\n");
    write_file("/a", "memory.max", "1000\n");
    write_file("/a", "memory.high", "max\n");
    write_file("/a", "memory.events.local", "low 0\nhigh 0\nmax 40\noom 0\n");
    write_file("/a/b", "memory.current", "500\n");
    write_file("/a/b", "memory.max", "max\n");
    write_file("/a/b", "memory.high", "800\n");
    write_file("/a/b", "memory.events.local", "low 0\nhigh 7\nmax 0\noom 0\n");
    struct cgroup_memory *m = open_groups("cgroup2", "0::/a/b\n");
    assert_facts(m, 800, 500, 0, "/a/b"); /* the tightest */
    write_file("/a", "memory.events.local", "low 0\nhigh 0\nmax 45\noom 0\n");
    write_file("/a/b", "memory.current", "600\n");
    cgroup_memory_look(m);
    assert_facts(m, 1000, 900, 5, "/a");
    write_file("/a/b", "memory.events.local", "low 0\nhigh 17\nmax 3\noom 0\n");
    cgroup_memory_look(m);
    assert_facts(m, 800, 600, 13, "/a/b");
    cgroup_memory_free(m);
}
END_TEST

START_TEST(version_1_has_its_own_files)
{
    write_file("/a/b", "memory.usage_in_bytes", "500\n");
    write_file("/a/b", "memory.limit_in_bytes", "600\n");
    write_file("/a/b", "memory.failcnt", "3\n");
    write_file("/a", "memory.usage_in_bytes", "500\n");
    write_file("/a", "memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    write_file("/a", "memory.failcnt", "0\n");
    struct cgroup_memory *m = open_groups("cgroup", "9:memory:/a/b\n0::/c\n");
    write_file("/a/b", "memory.failcnt", "10\n");
    cgroup_memory_look(m);
    assert_facts(m, 600, 500, 7, "/a/b");
    cgroup_memory_free(m);
}
END_TEST

START_TEST(without_a_limit_there_are_no_facts)
{
    struct cgroup_memory *m = open_groups("cgroup2", "0::/a/b\n"); /* no such files */
    assert_facts(m, 0, 0, 0, "");
    cgroup_memory_free(m);
    write_file("/a/b", "memory.current", "500\n");
    write_file("/a/b", "memory.max", "max\n");
    m = open_groups("cgroup2", "0::/a/b\n");
    assert_facts(m, 0, 0, 0, "");
    cgroup_memory_free(m);
    m = cgroup_memory_open("", "", "");
    assert_facts(m, 0, 0, 0, "");
    cgroup_memory_free(m);
}
END_TEST

/* A group that ends keeps its last values; one whose counters begin anew has none. */
START_TEST(what_was_read_last_stays)
{
    write_file("/a/b", "memory.current", "500\n");
    write_file("/a/b", "memory.max", "600\n");
    write_file("/a/b", "memory.events", "max 4\n"); /* before Linux 5.2 */
    struct cgroup_memory *m = open_groups("cgroup2", "0::/a/b\n");
    write_file("/a/b", "memory.events", "max 9\n");
    cgroup_memory_look(m);
    char *command = xasprintf("rm -r %s/a/b", top);
    ck_assert_int_eq(system(command), 0);
    free(command);
    cgroup_memory_look(m);
    assert_facts(m, 600, 500, 5, "/a/b");
    cgroup_memory_free(m);
}
END_TEST

CHECK_MAIN_WITH("cgroup_memory", 20, setup, teardown, the_group_that_ran_against_its_limit_is_told,
                version_1_has_its_own_files, without_a_limit_there_are_no_facts,
                what_was_read_last_stays)
