#include "target/package_path.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/text.h"
#include "tests/support/check_main.h"

static char folder[] = "/tmp/package_path.XXXXXX";
static struct package_paths paths;

static void make_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    char *command = xasprintf("rm -r %s", folder);
    ck_assert_int_eq(system(command), 0); // NOLINT(cert-env33-c): the name is ours
    free(command);
    package_paths_release(&paths);
}

/* Makes the folder NAME, a package or not. */
static void make(const char *name, bool package)
{
    char *path = xasprintf("%s/%s", folder, name);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    char *init = xasprintf("%s/__init__.py", path);
    FILE *file = package ? fopen(init, "w") : NULL;
    ck_assert(!package || fclose(file) == 0);
    free(init);
    free(path);
}

static void expect(const char *name, const char *part)
{
    char *path = xasprintf("%s/%s", folder, name);
    for (int again = 0; again < 2; again++) {
        const char *found = package_path(&paths, getpid(), path);
        ck_assert_ptr_nonnull(found);
        ck_assert_str_eq(found, part);
    }
    package_paths_release(&paths); /* it knows PATH by its address */
    free(path);
}

START_TEST(from_the_outermost_package_on)
{
    make("a", true);
    make("a/b", true);
    make("a/b/data", false);
    make("a/b/data/c", true);
    expect("train.py", "train.py");
    expect("a/x.py", "a/x.py");
    expect("a/b/x.py", "a/b/x.py");
    expect("a/b/data/x.py", "x.py");
    expect("a/b/data/c/x.py", "c/x.py");
    expect("a/b/none/x.py", "x.py");
}
END_TEST

START_TEST(links_count_as_python_follows_them)
{
    make("a", true);
    char *link = xasprintf("%s/link", folder);
    ck_assert_int_eq(symlink("a", link), 0);
    expect("link/x.py", "link/x.py");
    free(link);
}
END_TEST

START_TEST(what_is_no_path_is_not_looked_up)
{
    static const char *const names[] = {"<string>", "<frozen importlib._bootstrap>", "x.py", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_ptr_null(package_path(&paths, getpid(), names[i]));
    ck_assert_str_eq(package_path(&paths, getpid(), "/x.py"), "x.py");
}
END_TEST

START_TEST(long_paths_end)
{
    struct text path = {0};
    for (int i = 0; i < 5000; i++)
        text_add(&path, "/a");
    text_add(&path, "/x.py");
    ck_assert_str_eq(package_path(&paths, getpid(), path.s), "x.py");
    text_release(&path);
}
END_TEST

CHECK_MAIN_WITH("package_path", 10, make_folder, remove_folder, from_the_outermost_package_on,
                links_count_as_python_follows_them, what_is_no_path_is_not_looked_up,
                long_paths_end)
