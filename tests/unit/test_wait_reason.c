#include "waits/wait_reason.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "summary/wait_text.h"
#include "tests/support/check_main.h"

static struct profile *profile;
static struct name_limiter files;

static uint64_t read_fd; /* of this process */

/* What a thread that waits in a read of LINK shows. */
static const char *words_of_read(const char *link)
{
    struct {
        struct sample_message m;
        char link[64];
    } waits = {
        {.snapshot = {.state = THREAD_BLOCKED, .syscall = SYS_read, .syscall_args = {read_fd}}},
        ""};
    (void)snprintf(waits.link, sizeof waits.link, "%s", link);
    waits.m.wait_object_offset = sizeof waits.m;
    waits.m.wait_object_bytes = (uint32_t)strlen(waits.link);
    const struct wait_sample sample = {
        .m = &waits.m, .target = {.pid = getpid()}, .gil = {.gil = PY_GIL_ABSENT}};
    struct wait wait = wait_reason(profile, &sample, &files);
    static char words[128];
    struct text text = {0};
    wait_add_text(&text, profile, &wait, true);
    (void)snprintf(words, sizeof words, "%s", text.s);
    text_release(&text);
    return words;
}

START_TEST(what_is_waited_for_is_named)
{
    profile = profile_new(0);
    ck_assert_str_eq(words_of_read(""), "read [blocked]");
    ck_assert_str_eq(words_of_read("/data/a"), "read /data/a [blocked]");
    ck_assert_str_eq(words_of_read("pipe:[123]"), "read pipe [blocked]");
    ck_assert_str_eq(words_of_read("socket:[7]"), "read socket [blocked]");
    ck_assert_str_eq(words_of_read("anon_inode:[eventfd]"), "read eventfd [blocked]");
    ck_assert_str_eq(words_of_read("anon_inode:inotify"), "read inotify [blocked]");
    name_limiter_release(&files);
    profile_free(profile);
}
END_TEST

START_TEST(a_fifo_is_a_pipe_also_where_its_other_end_is_unknown)
{
    char path[] = "/tmp/wallspy-fifo-XXXXXX";
    profile = profile_new(0);
    ck_assert_ptr_nonnull(mkdtemp(path));
    char *fifo = xasprintf("%s/box", path);
    char *wanted = xasprintf("read pipe %s [blocked]", fifo);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    read_fd = (uint64_t)open(fifo, O_RDWR);
    ck_assert_str_eq(words_of_read(fifo), wanted);
    ck_assert_int_eq(close((int)read_fd), 0);
    read_fd = 0;
    ck_assert_int_eq(unlink(fifo) | rmdir(path), 0);
    free(wanted);
    free(fifo);
    name_limiter_release(&files);
    profile_free(profile);
}
END_TEST

/* So does CPython sleep up to 3.10. */
START_TEST(who_polls_nothing_sleeps)
{
    static const struct {
        int64_t call;
        uint64_t args[6];
        const char *object;
    } cases[] = {
        {SYS_select, {0, 0, 0, 0, 1}, "sleep"}, {SYS_pselect6, {8, 0, 0, 0, 1}, "sleep"},
        {SYS_select, {8, 4096, 0, 0, 1}, ""},   {SYS_poll, {0, 0, 500}, "sleep"},
        {SYS_ppoll, {4096, 1, 4096}, ""},       {SYS_epoll_wait, {0, 0, 0}, ""},
    };
    profile = profile_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample_message m = {.snapshot = {.state = THREAD_BLOCKED, .syscall = cases[i].call}};
        memcpy(m.snapshot.syscall_args, cases[i].args, sizeof cases[i].args);
        const struct wait_sample sample = {.m = &m, .gil = {.gil = PY_GIL_ABSENT}};
        struct wait wait = wait_reason(profile, &sample, &files);
        ck_assert_str_eq(profile_text(profile, wait.object), cases[i].object);
    }
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
        ck_assert_str_eq(words_of_read(path), wanted);
    }
    ck_assert_str_eq(words_of_read("/data/7"), "read /data/7 [blocked]");
    ck_assert_str_eq(words_of_read("/dev/null"), "read /dev/null [blocked]");
    name_limiter_release(&files);
    profile_free(profile);
}
END_TEST

CHECK_MAIN("wait_reason", 20, what_is_waited_for_is_named,
           a_fifo_is_a_pipe_also_where_its_other_end_is_unknown, who_polls_nothing_sleeps,
           files_are_named_up_to_a_thousand_and_devices_always)
