#include "waits/descriptor.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/support/check_main.h"

START_TEST(links_have_kinds)
{
    static const struct {
        const char *link;
        enum descriptor_kind kind;
        uint64_t inode;
    } cases[] = {
        {"pipe:[639985]", DESCRIPTOR_PIPE, 639985},
        {"socket:[1]", DESCRIPTOR_SOCKET, 1},
        {"/var/log/x (deleted)", DESCRIPTOR_FILE, 0},
        {"anon_inode:[eventpoll]", DESCRIPTOR_EPOLL, 0},
        {"anon_inode:[eventfd]", DESCRIPTOR_EVENTFD, 0},
        {"anon_inode:[eventfd:17]", DESCRIPTOR_EVENTFD, 0},
        {"anon_inode:[timerfd]", DESCRIPTOR_TIMERFD, 0},
        {"anon_inode:[signalfd]", DESCRIPTOR_SIGNALFD, 0},
        {"anon_inode:inotify", DESCRIPTOR_INOTIFY, 0},
        {"anon_inode:[pidfd]", DESCRIPTOR_PIDFD, 0},
        {"anon_inode:[io_uring]", DESCRIPTOR_OTHER, 0},
        {"", DESCRIPTOR_OTHER, 0},
        {"pipe:[]", DESCRIPTOR_OTHER, 0},
        {"pipe:[12", DESCRIPTOR_OTHER, 0},
        {"pipe:[12] ", DESCRIPTOR_OTHER, 0},
        {"socket:[99999999999999999999]", DESCRIPTOR_OTHER, 0},
        {"net:[4026531840]", DESCRIPTOR_OTHER, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t inode = 7;
        ck_assert_msg(descriptor_parse_link(cases[i].link, &inode) == cases[i].kind, "%s",
                      cases[i].link);
        ck_assert_uint_eq(inode, cases[i].inode);
    }
}
END_TEST

static const char epoll_info[] =
    "pos:\t0\nflags:\t02000002\nmnt_id:\t17\nino:\t1038\n"
    "tfd:        4 events:       1f data:                4  pos:0 ino:9c3f1 sdev:f\n"
    "tfd:        5 events: 80000019 data: ffffffffffffffff \n"
    "tfd:        x events:       19 data:                5  pos:0 ino:1 sdev:9\n"
    "tfd:        6 events:       19 data:                6  pos:0 ino:8a4b sdev:9";

START_TEST(an_epolls_items_are_read)
{
    struct epoll_item items[4] = {{0}};
    ck_assert_uint_eq(descriptor_epoll_items(epoll_info, items, 4), 2); /* the last line is cut */
    ck_assert_uint_eq(items[0].fd, 4);
    ck_assert_uint_eq(items[0].inode, 0x9c3f1);
    ck_assert_uint_eq(items[0].events, 0x1f);
    ck_assert_uint_eq(items[1].fd, 5);
    ck_assert_uint_eq(items[1].inode, 0);
    ck_assert_uint_eq(items[1].events, 0x80000019);
    struct epoll_item one = {0};
    ck_assert_uint_eq(descriptor_epoll_items(epoll_info, &one, 1), 2);
    ck_assert_uint_eq(one.fd, 4);
    ck_assert_uint_eq(descriptor_epoll_items("", items, 4), 0);
}
END_TEST

START_TEST(an_epolls_key_is_that_of_its_items)
{
    const char *items = strstr(epoll_info, "tfd:");
    char other[sizeof epoll_info];
    memcpy(other, epoll_info, sizeof other);
    *strstr(other, "8a4b") = '7';
    ck_assert_uint_ne(descriptor_epoll_key(epoll_info), 0);
    ck_assert_uint_eq(descriptor_epoll_key(epoll_info), descriptor_epoll_key(items));
    ck_assert_uint_ne(descriptor_epoll_key(epoll_info), descriptor_epoll_key(other));
    ck_assert_uint_eq(descriptor_epoll_key("pos:\t0\nflags:\t02\n"), 0);
}
END_TEST

START_TEST(locks_are_read)
{
    static const char info[] = "pos:\t0\nflags:\t02100001\n"
                               "lock:\t1: FLOCK  ADVISORY  READ 25539 fe:00:9978393 0 EOF\n"
                               "lock:\t2: POSIX  ADVISORY  WRITE 25539 fe:00:9978393 100 199\n"
                               "lock:\t3: OFDLCK ADVISORY  WRITE -1 fe:00:9978393 5 EOF\n"
                               "lock:\t4: LEASE  ACTIVE    READ 25539 fe:00:9978393 0 EOF\n"
                               "lock:\t5: POSIX  ADVISORY  WRITE 25539 fe:00:9978393 0 -1\n"
                               "lock:\t6: POSIX  ADVISORY\n";
    struct file_lock locks[8];
    ck_assert_uint_eq(descriptor_locks(info, locks, 8), 3);
    ck_assert_int_eq(locks[0].kind, FILE_LOCK_FLOCK);
    ck_assert(!locks[0].write);
    ck_assert_uint_eq(locks[0].inode, 9978393);
    ck_assert_uint_eq(locks[0].end, UINT64_MAX);
    ck_assert_int_eq(locks[1].kind, FILE_LOCK_POSIX);
    ck_assert(locks[1].write);
    ck_assert_uint_eq(locks[1].start, 100);
    ck_assert_uint_eq(locks[1].end, 199);
    ck_assert_int_eq(locks[2].kind, FILE_LOCK_OPEN_FILE);
    ck_assert_int_eq(locks[1].taker, 25539);
    ck_assert_int_eq(locks[2].taker, 0);
    ck_assert_uint_eq(descriptor_locks(info, locks, 1), 1);
}
END_TEST

START_TEST(a_lock_that_waits_is_none)
{
    static const char taken[] = "8: FLOCK  ADVISORY  WRITE 77 fe:00:12 0 EOF";
    static const char waits[] = "8: -> FLOCK  ADVISORY  WRITE 78 fe:00:12 0 EOF";
    struct file_lock lock;
    ck_assert(descriptor_parse_lock(taken, taken + strlen(taken), &lock));
    ck_assert_int_eq(lock.taker, 77);
    ck_assert(!descriptor_parse_lock(waits, waits + strlen(waits), &lock));
}
END_TEST

START_TEST(flags_and_pids_are_read)
{
    ck_assert_int_eq(descriptor_access("pos:\t0\nflags:\t02000001\n"), O_WRONLY);
    ck_assert_int_eq(descriptor_access("flags:\t0100002\n"), O_RDWR);
    ck_assert_int_eq(descriptor_access("flags:\t00\n"), O_RDONLY);
    ck_assert_int_eq(descriptor_access("flags:\t\n"), -1);
    ck_assert_int_eq(descriptor_access("flags:\t0x9\n"), -1);
    ck_assert_int_eq(descriptor_access("pos:\t0\n"), -1);
    ck_assert_int_eq(descriptor_pidfd("Pid:\t25539\nNSpid:\t25539\n"), 25539);
    ck_assert_int_eq(descriptor_pidfd("Pid:\t-1\n"), 0);
    ck_assert_int_eq(descriptor_pidfd("Pid:\t99999999999\n"), 0);
    ck_assert_int_eq(descriptor_pidfd("NSpid:\t1\n"), 0);
}
END_TEST

/* The kernel's own words. */
START_TEST(own_descriptors_are_read)
{
    char info[4096];
    char link[DESCRIPTOR_LINK_BYTES];
    struct epoll_item item = {0};
    struct file_lock lock;
    uint64_t inode;
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    ck_assert_int_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event), 0);
    ck_assert_int_gt(descriptor_read_info(getpid(), (uint64_t)epoll, info, sizeof info), 0);
    ck_assert_uint_eq(descriptor_epoll_items(info, &item, 1), 1);
    ck_assert_uint_eq(item.fd, (uint64_t)ends[0]);
    descriptor_read_link(getpid(), (uint64_t)ends[0], link);
    ck_assert_int_eq(descriptor_parse_link(link, &inode), DESCRIPTOR_PIPE);
    ck_assert_uint_eq(item.inode, inode);
    ck_assert_int_gt(descriptor_read_info(getpid(), (uint64_t)ends[1], info, sizeof info), 0);
    ck_assert_int_eq(descriptor_access(info), O_WRONLY);
    FILE *file = tmpfile();
    ck_assert_int_eq(flock(fileno(file), LOCK_EX), 0);
    ck_assert_int_gt(descriptor_read_info(getpid(), (uint64_t)fileno(file), info, sizeof info), 0);
    ck_assert_uint_eq(descriptor_locks(info, &lock, 1), 1);
    ck_assert(lock.write && lock.kind == FILE_LOCK_FLOCK);
    int event_fd = eventfd(0, 0);
    descriptor_read_link(getpid(), (uint64_t)event_fd, link);
    ck_assert_int_eq(descriptor_parse_link(link, &inode), DESCRIPTOR_EVENTFD);
    descriptor_read_link(getpid(), 9999, link);
    ck_assert_str_eq(link, "");
    descriptor_read_link(getpid(), UINT64_MAX, link);
    ck_assert_str_eq(link, "");
    (void)fclose(file);
    close(event_fd);
    close(epoll);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

CHECK_MAIN("descriptor", 10, links_have_kinds, an_epolls_items_are_read,
           an_epolls_key_is_that_of_its_items, locks_are_read, a_lock_that_waits_is_none,
           flags_and_pids_are_read, own_descriptors_are_read)
