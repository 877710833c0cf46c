#include "target/mount.h"

#include "tests/support/check_main.h"

static const char table[] =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 22 0:40 / /shared/files rw - nfs4 nfs01:/export rw,vers=4.2\n"
    "31 22 0:41 / /shared/fi rw - tmpfs none rw\n"
    "32 30 0:42 / /shared/files/a\\040b rw shared:3 master:4 - fuse.sshfs me@host:\x1b[2J rw\n"
    "33 22 0:43 / /shared/files/again rw - tmpfs below rw\n"
    "34 33 0:44 / /shared/files/again rw - tmpfs above rw\n"
    "bad line\n"
    "35 22 0:45\n";

START_TEST(the_longest_mount_point_counts)
{
    static const struct {
        const char *path, *found;
    } cases[] = {{"/usr/lib/libc.so", "ext4 on /dev/sda1"},
                 {"/shared/files/x", "nfs4 on nfs01:/export"},
                 {"/shared/files", "nfs4 on nfs01:/export"},
                 {"/shared/filesystem", "ext4 on /dev/sda1"},
                 {"/shared/files/again/x", "tmpfs on above"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text out = {0};
        ck_assert(mount_find(table, cases[i].path, &out));
        ck_assert_str_eq(out.s, cases[i].found);
        text_release(&out);
    }
}
END_TEST

START_TEST(nothing_is_found_in_nothing)
{
    struct text out = {0};
    ck_assert(!mount_find("", "/x", &out));
    ck_assert(!mount_find("30 22 0:40 / /mnt rw - ext4 /dev/sdb rw\n", "/x", &out));
    ck_assert(!mount_find("30 22 0:40 / / rw - ext4 /dev/sdb rw", "/x", &out)); /* no whole line */
    ck_assert(mount_of("/proc/self/x", &out));
    text_release(&out);
}
END_TEST

CHECK_MAIN("mount", 20, the_longest_mount_point_counts, nothing_is_found_in_nothing)
