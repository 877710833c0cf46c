/* An open ELF file keeps no descriptor, and is found again by its name. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/elf_file.h"
#include "tests/support/check_main.h"
#include "tests/support/files.h"

static char folder[] = "/tmp/wallspy-elf-XXXXXX";
static char copy[TEST_PATH_BYTES];

static void make_copy(void)
{
    char from[TEST_PATH_BYTES];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(copy, sizeof copy, "%s/copy.so", folder);
    beside_binary("libplugin.so", from);
    copy_file(from, copy);
}

static void drop_copy(void)
{
    (void)unlink(copy);
    (void)rmdir(folder);
}

static void expect_plugin(struct elf_file *f)
{
    struct addr_range r;
    ck_assert_int_eq(elf_file_symbol(f, "plugin_data", &r), 0);
}

static int lowest_free_descriptor(void)
{
    int fd = open("/", O_PATH);
    close(fd);
    return fd;
}

/* Hundreds of modules are opened, and stay so. */
START_TEST(an_open_file_keeps_no_descriptor)
{
    enum { FILES = 100 };
    struct elf_file *files[FILES];
    int before = lowest_free_descriptor();
    for (size_t i = 0; i < FILES; i++)
        ck_assert_int_eq(elf_file_open(&files[i], copy, NULL), 0);
    ck_assert_int_eq(lowest_free_descriptor(), before);
    for (size_t i = 0; i < FILES; i++) {
        expect_plugin(files[i]);
        elf_file_free(files[i]);
    }
}
END_TEST

START_TEST(a_file_is_opened_once_more)
{
    struct elf_file *f = NULL;
    struct stat st;
    struct stat reopened;
    ck_assert_int_eq(elf_file_open(&f, copy, NULL), 0);
    int fd = elf_file_reopen(f);
    ck_assert_int_eq(fstat(fd, &reopened) + stat(copy, &st), 0);
    ck_assert_uint_eq(reopened.st_ino, st.st_ino);
    close(fd);
    elf_file_free(f);
}
END_TEST

/* As after the process has ended by whose root it was opened. */
START_TEST(a_file_is_found_without_the_process)
{
    struct elf_file *f = NULL;
    char path[2 * TEST_PATH_BYTES];
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            (void)pause();
    (void)snprintf(path, sizeof path, "/proc/%d/root%s", pid, copy);
    ck_assert_int_eq(elf_file_open(&f, path, NULL), 0);
    (void)kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    int fd = elf_file_reopen(f);
    ck_assert_int_ge(fd, 0);
    close(fd);
    elf_file_free(f);
}
END_TEST

START_TEST(another_file_of_the_same_name_is_not_reopened)
{
    struct elf_file *f = NULL;
    ck_assert_int_eq(elf_file_open(&f, copy, NULL), 0);
    ck_assert_int_eq(unlink(copy), 0);
    ck_assert_int_eq(elf_file_reopen(f), -ENOENT);
    FILE *other = fopen(copy, "w");
    ck_assert_int_eq(fclose(other), 0);
    ck_assert_int_eq(elf_file_reopen(f), -ESTALE);
    expect_plugin(f);
    elf_file_free(f);
}
END_TEST

CHECK_MAIN_WITH("elf_again", 20, make_copy, drop_copy, an_open_file_keeps_no_descriptor,
                a_file_is_opened_once_more, a_file_is_found_without_the_process,
                another_file_of_the_same_name_is_not_reopened)
