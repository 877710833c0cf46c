#include "target/mount.h"

#include <string.h>

#include "base/alloc.h"
#include "tests/support/check_main.h"

static const char table[] =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 22 0:40 / /shared/files rw - nfs4 nfs01:/export rw,vers=4.2\n"
    "31 22 0:41 / /shared/fi rw - tmpfs none rw\n"
    "32 30 0:42 /x\\040y /shared/files/a\\040b\\134c rw shared:3 master:4 - fuse.sshfs "
    "me@h\\043ost:\x1b[2J rw\n"
    "33 30 0:43 / /shared/files/again rw - tmpfs below rw\n"
    "34 33 0:44 / /shared/files/again rw - tmpfs above rw\n"
    "36 22 0:46 / /covered rw - tmpfs  rw\n"
    "35 22 0:45 / /covered/deep rw - nfs deep:/ rw\n"
    "37 22 0:47 / /first/deep rw - nfs first:/ rw\n"
    "38 22 0:48 / /first rw - xfs second rw\n"
    "bad line\n"
    "39 22 0:45 - nfs x rw\n"
    "40 22 0:45 / relative rw - nfs x rw\n"
    "41 22 0:45 / /short rw - nfs x\n"
    "42 22 0:45 / /no-end rw - nfs x rw";

/* What PATH lies on, as "TYPE SOURCE"; the caller frees it. */
static char *found(const char *mountinfo, const char *path)
{
    struct mounts mounts = {0};
    mounts_parse(&mounts, mountinfo);
    const struct mount *m = mounts_find(&mounts, path);
    char *ret = m ? xasprintf("%s %s %s", m->point, m->type, m->source) : xstrdup("");
    mounts_release(&mounts);
    return ret;
}

static void assert_found(const char *mountinfo, const char *path, const char *wanted)
{
    char *text = found(mountinfo, path);
    ck_assert_str_eq(text, wanted);
    free(text);
}

START_TEST(a_path_lies_on_the_mount_that_a_walk_ends_on)
{
    static const struct {
        const char *path, *found;
    } cases[] = {
        {"/", "/ ext4 /dev/sda1"},
        {"/usr/lib/libc.so", "/ ext4 /dev/sda1"},
        {"/shared/files/x", "/shared/files nfs4 nfs01:/export"},
        {"/shared/files", "/shared/files nfs4 nfs01:/export"},
        {"/shared/filesystem", "/ ext4 /dev/sda1"},
        {"/shared/files/a b\\c/d", "/shared/files/a b\\c fuse.sshfs me@h#ost:\x1b[2J"},
        {"/shared/files/again/x", "/shared/files/again tmpfs above"},
        {"/covered/x", "/covered tmpfs "},
        {"/first/deep/x", "/first xfs second"}, /* mounted over later, and so out of reach */
        {"/short/x", "/ ext4 /dev/sda1"},
        {"/no-end/x", "/ ext4 /dev/sda1"},
        {"relative", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_found(table, cases[i].path, cases[i].found);
}
END_TEST

START_TEST(nothing_is_found_in_nothing)
{
    assert_found("", "/x", "");
    assert_found("30 22 0:40 / /mnt rw - ext4 /dev/sdb rw\n", "/x", "");
    assert_found("30 22 0:40 / / rw - ext4 /dev/sdb rw", "/x", ""); /* no whole line */
}
END_TEST

START_TEST(odd_tables_end_the_walk)
{
    static const char circle[] = "1 0 0:1 / / rw - a a rw\n"
                                 "2 1 0:1 / /x rw - b b rw\n"
                                 "2 2 0:1 / /x rw - c c rw\n"
                                 "2 2 0:1 / /x rw - d d rw\n";
    static const char itself[] = "7 7 0:1 / / rw - a a rw\n";
    static const char chroot[] = "9 4 0:1 / /data rw - a a rw\n8 4 0:1 / /data/sub rw - b b rw\n";
    char *text = found(circle, "/x/y");
    ck_assert(str_starts(text, "/x "));
    free(text);
    assert_found(itself, "/x", "/ a a");
    assert_found(chroot, "/data/x", "/data a a");
    assert_found(chroot, "/data/sub/x", "/data/sub b b");
    assert_found(chroot, "/etc", "");
}
END_TEST

START_TEST(who_answers_is_known_by_the_type)
{
    static const char *const served[] = {"nfs", "nfs4", "cifs", "fuse", "fuse.sshfs", "9p"};
    static const char *const local[] = {"ext4", "fuseblk", "fusectl", "overlay", "nfsd", ""};
    for (size_t i = 0; i < sizeof served / sizeof *served; i++)
        ck_assert(mount_is_served(&(struct mount){.type = served[i]}));
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        ck_assert(!mount_is_served(&(struct mount){.type = local[i]}));
}
END_TEST

START_TEST(our_own_mounts_are_read)
{
    struct mounts mounts = {0};
    struct text out = {0};
    const struct mount *proc = mounts_of(&mounts, getpid(), "/proc/self/x");
    ck_assert_ptr_nonnull(proc);
    ck_assert_str_eq(proc->point, "/proc");
    ck_assert_str_eq(proc->type, "proc");
    ck_assert_ptr_eq(mounts_of(&mounts, INT32_MAX, "/proc/self/x"), proc); /* not read again */
    mounts_release(&mounts);
    ck_assert_ptr_null(mounts_of(&mounts, INT32_MAX, "/x"));
    mounts_release(&mounts);
    ck_assert(mount_describe("/proc/self/x", &out));
    ck_assert(str_starts(out.s, "proc on "));
    text_release(&out);
}
END_TEST

CHECK_MAIN("mount", 20, a_path_lies_on_the_mount_that_a_walk_ends_on, nothing_is_found_in_nothing,
           odd_tables_end_the_walk, who_answers_is_known_by_the_type, our_own_mounts_are_read)
