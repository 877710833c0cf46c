#include "waits/net_diag.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check_main.h"

static const char heading[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode";
/* As recorded: a listener, a connection of version 4, one of version 4 through a version 6 socket,
 * one of version 6, a UDP socket. */
static const char listener[] = "   0: 0100007F:270F 00000000:0000 0A 00000000:00000003 00:00000000 "
                               "00000000     0        0 433398 1 00000000aa9e1ee9 100 0 0 10 0";
static const char connection[] =
    "  12: 0100007F:A8C7 0700000A:1539 01 0039AFC0:00000010 01:00000014 00000000  1000        0 "
    "433400 2 0000000000000000 20 4 30 10 -1";
static const char mapped[] =
    "   3: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000200000A:8F3C 01 "
    "00000000:00000000 00:00000000 00000000     0        0 77 1 0000000000000000 20 4 30 10 -1";
static const char v6[] =
    "   4: 000080FE00000000000000000100A8C0:0050 00000000000000000000000001000000:C350 02 "
    "00000001:00000000 01:00000014 00000000     0        0 78 1 0000000000000000 20 4 30 10 -1";
static const char udp[] = " 5096: 0100007F:D5B6 3500007F:0035 01 00000000:00000000 00:00000000 "
                          "00000000     0        0 88 2 0000000000000000 0";

static void assert_address(const struct net_address *a, const char *words)
{
    struct text text = {0};
    net_address_add(&text, a);
    ck_assert_str_eq(text.s, words);
    text_release(&text);
}

static struct net_socket parse(const char *line, bool is_v6)
{
    struct net_socket s;
    ck_assert_int_eq(net_socket_parse(line, strlen(line), is_v6, &s), 0);
    return s;
}

START_TEST(lines_are_read)
{
    struct net_socket s = parse(listener, false);
    ck_assert_uint_eq(s.state, NET_LISTEN);
    ck_assert_uint_eq(s.inode, 433398);
    ck_assert_uint_eq(s.rx_bytes, 3);
    assert_address(&s.local, "127.0.0.1:9999");
    assert_address(&s.remote, "0.0.0.0:0");
    s = parse(connection, false);
    ck_assert_uint_eq(s.state, NET_ESTABLISHED);
    ck_assert_uint_eq(s.tx_bytes, 3780544);
    ck_assert_uint_eq(s.rx_bytes, 16);
    ck_assert_uint_eq(s.inode, 433400);
    assert_address(&s.remote, "10.0.0.7:5433");
    s = parse(mapped, true);
    assert_address(&s.local, "127.0.0.1:8080");
    assert_address(&s.remote, "10.0.0.2:36668");
    s = parse(v6, true);
    ck_assert_uint_eq(s.state, NET_SYN_SENT);
    assert_address(&s.local, "[fe80::c0a8:1]:80");
    assert_address(&s.remote, "[::1]:50000");
    s = parse(udp, false);
    assert_address(&s.remote, "127.0.0.53:53");
}
END_TEST

/* What is cut, too long or of another kind is no socket, and nothing is read beyond its end. */
START_TEST(what_is_no_line_is_refused)
{
    static const char *const wrong[] = {
        "",
        "0:",
        "   0: 0100007F:270F",
        "   0: 0100007:270F 00000000:0000 0A 0:0 00:0 0 0 0 1",
        "   0: 0100007F:1270F 00000000:0000 0A 0:0 00:0 0 0 0 1 ",
        "   0: 0100007F:270F 00000000:0000 1A 00000000:00000000 00:00000000 00000000 0 0 1 1",
        "   0: G100007F:270F 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1 1",
        "99999999999999999999: 0100007F:270F 00000000:0000 0A 0:0 0:0 0 0 0 1 1"};
    struct net_socket s;
    ck_assert_int_eq(net_socket_parse(heading, strlen(heading), false, &s), -EPROTO);
    ck_assert_int_eq(net_socket_parse(connection, strlen(connection), true, &s), -EPROTO);
    ck_assert_int_eq(net_socket_parse(mapped, strlen(mapped), false, &s), -EPROTO);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(net_socket_parse(wrong[i], strlen(wrong[i]), false, &s) == -EPROTO, "%s",
                      wrong[i]);
    size_t needed = (size_t)(strstr(connection, "433400") - connection) + 1;
    for (size_t len = 0; len < needed; len++) {
        char *copy = malloc(len + 1); /* so that a sanitizer sees reads beyond LEN */
        memcpy(copy, connection, len);
        ck_assert_int_eq(net_socket_parse(copy, len, false, &s), -EPROTO);
        free(copy);
    }
}
END_TEST

struct sought {
    uint64_t inode;
    struct net_socket found;
    size_t n;
};

static bool see(void *ctx, const struct net_socket *s)
{
    struct sought *sought = ctx;
    if (s->inode == sought->inode) {
        sought->found = *s;
        sought->n++;
    }
    return true;
}

START_TEST(an_own_listener_is_found)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    struct stat st;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    ck_assert_int_eq(fstat(fd, &st), 0);
    struct sought sought = {.inode = st.st_ino};
    ck_assert(net_sockets_each(getpid(), NS_PER_S, &(struct net_visitor){see, NULL, &sought}));
    ck_assert_uint_eq(sought.n, 1);
    ck_assert_uint_eq(sought.found.state, NET_LISTEN);
    ck_assert_uint_eq(sought.found.local.port, ntohs(address.sin_port));
    close(fd);
}
END_TEST

/* ---- the kernel's answers ---- */

struct answer {
    struct nlmsghdr head;
    struct inet_diag_msg body;
};

static struct answer answer_of(uint16_t type)
{
    return (struct answer){
        .head = {.nlmsg_len = sizeof(struct answer), .nlmsg_type = type},
        .body = {.idiag_family = AF_INET,
                 .idiag_state = NET_ESTABLISHED,
                 .idiag_inode = 4711,
                 .idiag_rqueue = 5,
                 .idiag_wqueue = 7,
                 .id = {.idiag_sport = htons(40000),
                        .idiag_dport = htons(5432),
                        .idiag_src = {htonl(0x0a000001)},
                        .idiag_dst = {htonl(0x0a000007)}}},
    };
}

/* At the end of its memory, so that a sanitizer sees reads beyond it. */
static int parse_answer(const void *bytes, size_t len, struct net_socket *ret, bool *is_socket)
{
    void *copy = malloc(len ? len : 1);
    memcpy(copy, bytes, len);
    int used = net_diag_parse(copy, len, ret, is_socket);
    free(copy);
    return used;
}

START_TEST(answers_of_the_kernel_are_read)
{
    struct net_socket s;
    struct text address = {0};
    bool is_socket;
    struct answer a = answer_of(SOCK_DIAG_BY_FAMILY);
    ck_assert_int_eq(parse_answer(&a, sizeof a, &s, &is_socket), sizeof a);
    ck_assert(is_socket);
    ck_assert_uint_eq(s.inode, 4711);
    ck_assert_uint_eq(s.rx_bytes, 5);
    ck_assert_uint_eq(s.tx_bytes, 7);
    ck_assert_uint_eq(s.room, 0);
    a.body.idiag_state = NET_LISTEN;
    ck_assert_int_eq(parse_answer(&a, sizeof a, &s, &is_socket), sizeof a);
    ck_assert_uint_eq(s.tx_bytes, 0);
    ck_assert_uint_eq(s.room, 7);
    net_address_add(&address, &s.remote);
    ck_assert_str_eq(address.s, "10.0.0.7:5432");
    text_release(&address);
    a.head.nlmsg_type = NLMSG_DONE;
    memset(&a.body, 0, sizeof a.body);
    ck_assert_int_eq(parse_answer(&a, sizeof a, &s, &is_socket), sizeof a);
    ck_assert(!is_socket);
    a.head.nlmsg_type = NLMSG_ERROR;
    memcpy(&a.body, &(int){-ENOENT}, sizeof(int));
    ck_assert_int_eq(parse_answer(&a, sizeof a, &s, &is_socket), -ENOENT);
}
END_TEST

START_TEST(what_is_no_answer_is_refused)
{
    struct net_socket s;
    bool is_socket;
    struct answer a = answer_of(SOCK_DIAG_BY_FAMILY);
    for (size_t len = 0; len < sizeof a; len++) {
        ck_assert_int_eq(parse_answer(&a, len, &s, &is_socket), -EPROTO);
        a.head.nlmsg_len = (uint32_t)len;
        ck_assert_int_eq(parse_answer(&a, sizeof a, &s, &is_socket), -EPROTO);
        a.head.nlmsg_len = sizeof a;
    }
    a.body.idiag_family = AF_UNIX;
    ck_assert_int_eq(parse_answer(&a, sizeof a, &s, &is_socket), -EPROTO);
    a = answer_of(SOCK_DIAG_BY_FAMILY);
    a.body.idiag_state = 16;
    ck_assert_int_eq(parse_answer(&a, sizeof a, &s, &is_socket), -EPROTO);
    a = answer_of(NLMSG_NOOP);
    ck_assert_int_eq(parse_answer(&a, sizeof a, &s, &is_socket), -EPROTO);
}
END_TEST

static bool count_version_6(void *ctx, const struct net_socket *s)
{
    *(size_t *)ctx += !s->udp && s->local.v6 && s->state == NET_ESTABLISHED;
    return true;
}

static bool has_enough(void *ctx)
{
    (void)ctx;
    return true;
}

/* Two descriptors, or false where the machine has no version 6. */
static bool connect_version_6(int ret[2])
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t len = sizeof address;
    ret[0] = socket(AF_INET6, SOCK_STREAM, 0);
    ret[1] = socket(AF_INET6, SOCK_STREAM, 0);
    return bind(ret[0], (struct sockaddr *)&address, sizeof address) == 0 &&
           listen(ret[0], 1) == 0 && getsockname(ret[0], (struct sockaddr *)&address, &len) == 0 &&
           connect(ret[1], (struct sockaddr *)&address, sizeof address) == 0;
}

/* Connected sockets of version 6 take another walk over all that the kernel has. */
START_TEST(who_has_enough_is_not_given_version_6)
{
    int fds[2];
    size_t all = 0;
    size_t fewer = 0;
    bool connected = connect_version_6(fds);
    ck_assert(
        net_sockets_each(getpid(), NS_PER_S, &(struct net_visitor){count_version_6, NULL, &all}));
    ck_assert(net_sockets_each(getpid(), NS_PER_S,
                               &(struct net_visitor){count_version_6, has_enough, &fewer}));
    ck_assert(!connected || all > 0);
    if (net_diag_each(false, NET_LISTENERS, INT64_MAX, count_version_6, &(size_t){0}) == 1)
        ck_assert_uint_eq(fewer, 0);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

CHECK_MAIN("net_sockets", 10, lines_are_read, what_is_no_line_is_refused, an_own_listener_is_found,
           answers_of_the_kernel_are_read, what_is_no_answer_is_refused,
           who_has_enough_is_not_given_version_6)
