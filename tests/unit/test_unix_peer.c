#include "waits/unix_peer.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/check_main.h"
#include "waits/fd_scan.h"
#include "waits/net_diag.h"

static uint64_t inode_of(int fd)
{
    struct stat st;
    ck_assert_int_eq(fstat(fd, &st), 0);
    return st.st_ino;
}

START_TEST(the_other_end_is_found)
{
    struct unix_socket s;
    int fds[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    ck_assert_int_eq(unix_socket_read(inode_of(fds[0]), &s), 0);
    ck_assert_uint_eq(s.peer, inode_of(fds[1]));
    ck_assert_str_eq(s.path, "");
    ck_assert(!s.listens);
    ck_assert(net_is_here(getpid()));
    ck_assert_int_lt(unix_socket_read(UINT64_MAX, &s), 0);
    ck_assert_int_lt(unix_socket_read(0, &s), 0);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

START_TEST(a_listener_has_a_name)
{
    struct unix_socket s;
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "\0wallspy-unit-test"};
    socklen_t len =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen("wallspy-unit-test"));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_int_eq(unix_socket_read(inode_of(fd), &s), 0);
    ck_assert(s.listens);
    ck_assert_str_eq(s.path, "@wallspy-unit-test");
    close(fd);
}
END_TEST

/* An answer, at the end of its memory so that a sanitizer sees reads beyond it. */
static int parse(const void *bytes, size_t len, struct unix_socket *ret)
{
    void *copy = malloc(len ? len : 1);
    memcpy(copy, bytes, len);
    int r = unix_socket_parse(copy, len, ret);
    free(copy);
    return r;
}

START_TEST(hostile_answers_are_refused_or_cut)
{
    struct {
        struct nlmsghdr head;
        struct unix_diag_msg body;
        uint16_t len, type;
        uint32_t peer;
    } answer = {.head = {.nlmsg_len = sizeof answer, .nlmsg_type = SOCK_DIAG_BY_FAMILY},
                .len = 8,
                .type = UNIX_DIAG_PEER,
                .peer = 42};
    struct unix_socket s = {0};
    ck_assert_int_eq(parse(&answer, sizeof answer, &s), 0);
    ck_assert_uint_eq(s.peer, 42);
    for (size_t len = 0; len < sizeof answer; len++)
        ck_assert_int_lt(parse(&answer, len, &s), 0);
    static const uint16_t lengths[] = {0, 1, 3, 4, 7, 9, 12, UINT16_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        answer.len = lengths[i];
        ck_assert_int_eq(parse(&answer, sizeof answer, &s), 0);
        ck_assert_uint_eq(s.peer, 0);
    }
    answer.head.nlmsg_len = sizeof answer.head;
    ck_assert_int_eq(parse(&answer, sizeof answer, &s), -EPROTO);
    answer.head.nlmsg_len = sizeof answer.head + 4;
    answer.head.nlmsg_type = NLMSG_ERROR;
    int error = -ENOENT;
    memcpy(&answer.body, &error, sizeof error);
    ck_assert_int_eq(parse(&answer, sizeof answer, &s), -ENOENT);
    error = 7;
    memcpy(&answer.body, &error, sizeof error);
    ck_assert_int_eq(parse(&answer, sizeof answer, &s), -EPROTO);
}
END_TEST

/* Both ends of a pipe are this process's, and nobody else's. */
START_TEST(who_has_a_pipe_open_is_found)
{
    struct fd_scan scan = {0};
    char path[64];
    char link[64] = "";
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    ck_assert_int_gt(readlink(path, link, sizeof link - 1), 0);
    fd_scan_want(&scan, fd_scan_key(link));
    fd_scan_want(&scan, fd_scan_key("pipe:[0]"));
    fd_scan_run(&scan, 10000000000);
    ck_assert(!scan.goes_on && scan.last.whole);
    ck_assert_uint_eq(scan.last.n, 2);
    for (size_t i = 0; i < scan.last.n; i++) {
        ck_assert_int_eq(scan.last.users[i].pid, getpid());
        ck_assert_uint_eq(scan.last.users[i].link, fd_scan_key(link));
        ck_assert(scan.last.users[i].fd == (uint64_t)ends[0] ||
                  scan.last.users[i].fd == (uint64_t)ends[1]);
    }
    ck_assert_uint_eq(scan.wanted.n, 0);
    fd_scan_want(&scan, fd_scan_key(link));
    int64_t before_ns = scan.last.begun_ns;
    fd_scan_run(&scan, 0); /* no time at all: it goes on the next time */
    ck_assert(scan.goes_on && !fd_scan_has(&scan, fd_scan_key(link), before_ns));
    ck_assert_uint_eq(scan.wanted.n, 0); /* it looks for that already */
    int runs = 1;
    for (; scan.goes_on && runs < 1000000; runs++)
        fd_scan_run(&scan, 0);
    ck_assert_int_gt(runs, 2);
    ck_assert(fd_scan_has(&scan, fd_scan_key(link), before_ns) && scan.last.whole);
    ck_assert_uint_eq(scan.last.n, 2);
    fd_scan_release(&scan);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

CHECK_MAIN("unix_peer", 20, the_other_end_is_found, a_listener_has_a_name,
           hostile_answers_are_refused_or_cut, who_has_a_pipe_open_is_found)
