#include "cli/ctl_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/support/check_main.h"

enum { NOBODY = 65534 };
static char above[] = "/tmp/wallspy-ctl-XXXXXX";

static void enter(void)
{
    ck_assert_ptr_nonnull(mkdtemp(above));
    ck_assert_int_eq(chdir(above), 0);
}

static void leave(void)
{
    (void)unlink("link");
    (void)unlink("file");
    (void)rmdir("made");
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(above), 0);
}

/* What is wrong with PATH; "": nothing. */
static const char *wrong_with(const char *path, bool make)
{
    static struct err err;
    err = (struct err){0};
    int fd = ctl_folder_open(path, make, &err);
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? "" : err.text;
}

START_TEST(only_a_folder_of_ones_own_is_used)
{
    ck_assert_str_eq(wrong_with("made", false), "made cannot be opened: No such file or directory");
    ck_assert_str_eq(wrong_with("made", true), "");
    ck_assert_str_eq(wrong_with("made", false), "");
    ck_assert_int_eq(symlink("made", "link"), 0);
    ck_assert_str_eq(wrong_with("link", true), "link is a link or a file");
    int fd = open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_str_eq(wrong_with("file", true), "file is a link or a file");
    ck_assert_str_eq(wrong_with("none/made", true),
                     "none/made cannot be made: No such file or directory");
    ck_assert_int_eq(chmod("made", 0770), 0);
    ck_assert_str_eq(wrong_with("made", true),
                     "made is not its owner's alone: it has to have mode 700");
    ck_assert_int_eq(chmod("made", 01700), 0);
    ck_assert_str_eq(wrong_with("made", true),
                     "made is not its owner's alone: it has to have mode 700");
}
END_TEST

START_TEST(another_users_folder_is_not_used)
{
    if (geteuid() != 0) {
        ck_assert_str_eq(wrong_with("/", false), "/ belongs to uid 0");
        return;
    }
    ck_assert_str_eq(wrong_with("made", true), "");
    ck_assert_int_eq(chown("made", NOBODY, (gid_t)-1), 0);
    ck_assert_str_eq(wrong_with("made", true), "made belongs to uid 65534");
}
END_TEST

START_TEST(the_environment_says_where)
{
    struct ctl_folders f;
    ck_assert_int_eq(setenv("WALLSPY_CTL_DIR", "/some/where", 1), 0);
    ctl_folders_init(&f);
    ck_assert_uint_eq(f.n, 1);
    ck_assert_str_eq(f.paths[0], "/some/where");
    ctl_folders_release(&f);
    ck_assert_int_eq(setenv("WALLSPY_CTL_DIR", "relative", 1), 0); /* as if it were not there */
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", "/run/user/7", 1), 0);
    ctl_folders_init(&f);
    ck_assert_uint_eq(f.n, 2);
    ck_assert_str_eq(f.paths[0], geteuid() ? "/run/user/7/wallspy" : "/run/wallspy");
    ck_assert(str_starts(f.paths[1], "/tmp/wallspy-"));
    ctl_folders_release(&f);
}
END_TEST

static int make_socket(int folder, pid_t pid, bool listens)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    ctl_socket_path(folder, pid, address.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    if (listens)
        ck_assert_int_eq(listen(fd, 1), 0);
    return fd;
}

static size_t count(int folder)
{
    pid_t *pids;
    size_t n = ctl_sockets(folder, &pids);
    free(pids);
    return n;
}

START_TEST(a_socket_without_a_listener_goes)
{
    struct err err;
    pid_t *pids;
    int folder = ctl_folder_open("made", true, &err);
    int alive = make_socket(folder, 200, true);
    close(make_socket(folder, 30, false));
    ck_assert_int_eq(symlink("x", "made/x.sock"), 0);
    ck_assert_uint_eq(ctl_sockets(folder, &pids), 2);
    ck_assert(pids[0] == 30 && pids[1] == 200);
    free(pids);
    ck_assert_int_eq(ctl_connect(folder, 30), -ECONNREFUSED);
    ck_assert_uint_eq(count(folder), 1);
    int fd = ctl_connect(folder, 200);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(ctl_connect(folder, 30), -ENOENT);
    close(alive);
    ctl_socket_remove(folder, 200);
    ck_assert_uint_eq(count(folder), 0);
    ck_assert_int_eq(unlink("made/x.sock"), 0);
    close(folder);
}
END_TEST

CHECK_MAIN_WITH("ctl_folder", 20, enter, leave, only_a_folder_of_ones_own_is_used,
                another_users_folder_is_not_used, the_environment_says_where,
                a_socket_without_a_listener_goes)
