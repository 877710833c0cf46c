#include "worker/leaf.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "tests/support/check_main.h"

static struct profile *profile;
static struct few_names files;

/* What a thread that waits in a read of LINK shows. */
static const char *read_leaf(const char *link)
{
    struct {
        struct sample_message m;
        char link[64];
    } waits = {{.snapshot = {.state = THREAD_BLOCKED, .syscall = SYS_read}}, ""};
    (void)snprintf(waits.link, sizeof waits.link, "%s", link);
    waits.m.object_offset = sizeof waits.m;
    waits.m.object_bytes = (uint32_t)strlen(waits.link);
    frame_id id = leaf_frame(profile, 0, &waits.m, PY_GIL_ABSENT, &files);
    return profile_text(profile, profile_get_frame(profile, id)->mark.name);
}

START_TEST(what_is_waited_for_is_named)
{
    profile = profile_new(0);
    ck_assert_str_eq(read_leaf(""), "read [blocked]");
    ck_assert_str_eq(read_leaf("/data/a"), "read /data/a [blocked]");
    ck_assert_str_eq(read_leaf("pipe:[123]"), "read pipe [blocked]");
    ck_assert_str_eq(read_leaf("socket:[7]"), "read socket [blocked]");
    ck_assert_str_eq(read_leaf("anon_inode:[eventfd]"), "read eventfd [blocked]");
    ck_assert_str_eq(read_leaf("anon_inode:inotify"), "read inotify [blocked]");
    few_names_release(&files);
    profile_free(profile);
}
END_TEST

START_TEST(files_are_named_up_to_a_thousand_and_devices_always)
{
    char path[32];
    char wanted[128];
    profile = profile_new(0);
    for (int i = 0; i < 1100; i++) {
        (void)snprintf(path, sizeof path, "/data/%d", i);
        (void)snprintf(wanted, sizeof wanted,
                       i < 1000 ? "read /data/%d [blocked]" : "read /data/… [blocked]", i);
        ck_assert_str_eq(read_leaf(path), wanted);
    }
    ck_assert_str_eq(read_leaf("/data/7"), "read /data/7 [blocked]");
    ck_assert_str_eq(read_leaf("/dev/null"), "read /dev/null [blocked]");
    few_names_release(&files);
    profile_free(profile);
}
END_TEST

CHECK_MAIN("leaf", 20, what_is_waited_for_is_named,
           files_are_named_up_to_a_thousand_and_devices_always)
