#include "cli/leaf.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/check_main.h"

static struct profile *profile;
static struct leaf_files files;

/* What a thread of ours that waits in a read of PATH shows. */
static const char *read_leaf(const char *path, int flags)
{
    int fd = open(path, flags, 0600);
    ck_assert_int_ge(fd, 0);
    struct sample_message m = {
        .snapshot = {.state = THREAD_BLOCKED, .syscall = SYS_read, .syscall_args = {(uint64_t)fd}}};
    frame_id id = leaf_frame(profile, getpid(), &m, PY_GIL_ABSENT, &files);
    (void)close(fd);
    return profile_text(profile, profile_get_frame(profile, id)->mark.name);
}

START_TEST(files_are_named_up_to_a_thousand_and_devices_always)
{
    char folder[] = "/tmp/wallspy-leaf-XXXXXX";
    char path[64];
    char wanted[128];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    profile = profile_new(0);
    for (int i = 0; i < 1100; i++) {
        (void)snprintf(path, sizeof path, "%s/%d", folder, i);
        (void)snprintf(wanted, sizeof wanted,
                       i < 1000 ? "read %s/%d [blocked]" : "read %s/… [blocked]", folder, i);
        ck_assert_str_eq(read_leaf(path, O_RDONLY | O_CREAT), wanted);
    }
    (void)snprintf(path, sizeof path, "%s/7", folder);
    (void)snprintf(wanted, sizeof wanted, "read %s [blocked]", path);
    ck_assert_str_eq(read_leaf(path, O_RDONLY), wanted);
    ck_assert_str_eq(read_leaf("/dev/null", O_RDONLY), "read /dev/null [blocked]");
    for (int i = 0; i < 1100; i++) {
        (void)snprintf(path, sizeof path, "%s/%d", folder, i);
        (void)unlink(path);
    }
    (void)rmdir(folder);
    map_release(&files.seen);
    profile_free(profile);
}
END_TEST

CHECK_MAIN("leaf", 20, files_are_named_up_to_a_thousand_and_devices_always)
