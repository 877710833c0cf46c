#include "waits/net_look.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check_main.h"

/* Two ends of a connection of the test's own. */
struct pair {
    int listener, client, server;
    uint16_t port; /* the listener's */
};

static struct pair connect_pair(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    struct pair p = {.listener = socket(AF_INET, SOCK_STREAM, 0),
                     .client = socket(AF_INET, SOCK_STREAM, 0)};
    ck_assert_int_eq(bind(p.listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(p.listener, 1), 0);
    ck_assert_int_eq(getsockname(p.listener, (struct sockaddr *)&address, &len), 0);
    ck_assert_int_eq(connect(p.client, (struct sockaddr *)&address, sizeof address), 0);
    p.server = accept(p.listener, NULL, NULL);
    ck_assert_int_ge(p.server, 0);
    p.port = ntohs(address.sin_port);
    return p;
}

static void close_pair(struct pair *p)
{
    close(p->listener);
    close(p->client);
    close(p->server);
}

static uint64_t inode_of(int fd)
{
    struct stat st;
    ck_assert_int_eq(fstat(fd, &st), 0);
    return st.st_ino;
}

/* The next reading may be seconds away: see is_kept(). */
START_TEST(a_reading_for_one_socket_keeps_other_connections)
{
    struct net_look look = {0};
    struct net_socket s;
    struct pair asked = connect_pair();
    struct pair other = connect_pair();
    ck_assert_int_eq(net_look_find(&look, getpid(), inode_of(asked.client), &s), NET_UNKNOWN);
    ck_assert(net_look_run(&look, NS_PER_S));
    ck_assert_int_eq(net_look_find(&look, getpid(), inode_of(asked.client), &s), NET_KNOWN);
    ck_assert_uint_eq(s.remote.port, asked.port);
    ck_assert_int_eq(net_look_find(&look, getpid(), inode_of(other.client), &s), NET_KNOWN);
    ck_assert_uint_eq(s.remote.port, other.port);
    ck_assert(net_look_has(&look, inode_of(other.server), &s));
    ck_assert(net_look_serves(&look, &s));
    ck_assert(!net_look_run(&look, NS_PER_S));
    close_pair(&asked);
    close_pair(&other);
    net_look_release(&look);
}
END_TEST

/* With 100,000 sockets no reading reaches the last ones. */
START_TEST(what_no_reading_reaches_is_given_up_and_counted)
{
    struct net_look look = {0};
    struct net_socket s;
    struct pair p = connect_pair();
    uint64_t gone = inode_of(p.client) + (UINT64_C(1) << 40);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(look.given_up, 0);
        ck_assert_int_eq(net_look_find(&look, getpid(), gone, &s), NET_UNKNOWN);
        ck_assert(net_look_run(&look, 0)); /* no time at all */
    }
    ck_assert_uint_eq(look.given_up, 1);
    ck_assert_int_eq(net_look_find(&look, getpid(), gone, &s), NET_NO_SOCKET);
    ck_assert(!net_look_run(&look, 0));
    close_pair(&p);
    net_look_release(&look);
}
END_TEST

/* It may be connected before it is asked for. */
START_TEST(what_is_not_connected_is_known_only_if_asked_for)
{
    struct net_look look = {0};
    struct net_socket s;
    struct pair p = connect_pair();
    ck_assert_int_eq(net_look_find(&look, getpid(), inode_of(p.client), &s), NET_UNKNOWN);
    ck_assert(net_look_run(&look, NS_PER_S));
    ck_assert(!net_look_has(&look, inode_of(p.listener), &s));
    ck_assert_int_eq(net_look_find(&look, getpid(), inode_of(p.listener), &s), NET_UNKNOWN);
    ck_assert(net_look_run(&look, NS_PER_S));
    ck_assert_int_eq(net_look_find(&look, getpid(), inode_of(p.listener), &s), NET_KNOWN);
    ck_assert_uint_eq(s.local.port, p.port);
    close_pair(&p);
    net_look_release(&look);
}
END_TEST

/* It is in no table; the first reading has no time to see that. */
START_TEST(what_a_reading_did_not_come_to_is_asked_for_again)
{
    struct net_look look = {0};
    struct net_socket s;
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    ck_assert_int_eq(net_look_find(&look, getpid(), inode_of(pipes[0]), &s), NET_UNKNOWN);
    ck_assert(net_look_run(&look, -1));
    ck_assert_int_eq(net_look_find(&look, getpid(), inode_of(pipes[0]), &s), NET_UNKNOWN);
    ck_assert(net_look_run(&look, NS_PER_S));
    ck_assert_int_eq(net_look_find(&look, getpid(), inode_of(pipes[0]), &s), NET_NO_SOCKET);
    close(pipes[0]);
    close(pipes[1]);
    net_look_release(&look);
}
END_TEST

CHECK_MAIN("net_look", 10, a_reading_for_one_socket_keeps_other_connections,
           what_is_not_connected_is_known_only_if_asked_for,
           what_a_reading_did_not_come_to_is_asked_for_again,
           what_no_reading_reaches_is_given_up_and_counted)
