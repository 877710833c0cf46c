#include "waits/net_look.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
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

/* The inode of the other end of the socket FD; 0: it is not known. */
static uint64_t other_end_of(struct net_look *look, int fd)
{
    struct net_socket s;
    struct net_socket other;
    if (net_look_find(look, getpid(), inode_of(fd), &s) == NET_UNKNOWN) {
        ck_assert(net_look_run(look, NS_PER_S));
        ck_assert_int_eq(net_look_find(look, getpid(), inode_of(fd), &s), NET_KNOWN);
    }
    return net_look_other_end(look, &s, &other) ? other.inode : 0;
}

START_TEST(the_other_end_on_this_machine_is_found)
{
    struct net_look look = {0};
    struct pair p = connect_pair();
    ck_assert_uint_eq(other_end_of(&look, p.client), inode_of(p.server));
    ck_assert_uint_eq(other_end_of(&look, p.server), inode_of(p.client));
    ck_assert_uint_eq(other_end_of(&look, p.listener), 0);
    close_pair(&p);
    net_look_release(&look);
}
END_TEST

/* A server of version 6 sees a client of version 4 under another address. */
START_TEST(ends_of_two_versions_are_found)
{
    struct net_look look = {0};
    struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof any;
    struct pair p = {.listener = socket(AF_INET6, SOCK_STREAM, 0),
                     .client = socket(AF_INET, SOCK_STREAM, 0)};
    if (p.listener < 0) /* a machine without version 6 */
        return;
    ck_assert_int_eq(bind(p.listener, (struct sockaddr *)&any, sizeof any), 0);
    ck_assert_int_eq(listen(p.listener, 1), 0);
    ck_assert_int_eq(getsockname(p.listener, (struct sockaddr *)&any, &len), 0);
    to.sin_port = any.sin6_port;
    ck_assert_int_eq(connect(p.client, (struct sockaddr *)&to, sizeof to), 0);
    /* Nobody has accepted: whoever listens has to. */
    ck_assert_uint_eq(other_end_of(&look, p.client), inode_of(p.listener));
    p.server = accept(p.listener, NULL, NULL);
    (void)nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = NS_PER_MS}, NULL);
    (void)other_end_of(&look, p.client); /* asks for a new reading */
    ck_assert(net_look_run(&look, NS_PER_S));
    ck_assert_uint_eq(other_end_of(&look, p.client), inode_of(p.server));
    ck_assert_uint_eq(other_end_of(&look, p.server), inode_of(p.client));
    close_pair(&p);
    net_look_release(&look);
}
END_TEST

/* Which of them will accept nobody can say. */
START_TEST(of_several_that_listen_none_is_the_other_end)
{
    struct net_look look = {0};
    struct net_socket s;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listeners[2];
    int client = socket(AF_INET, SOCK_STREAM, 0);
    for (int i = 0; i < 2; i++) {
        listeners[i] = socket(AF_INET, SOCK_STREAM, 0);
        ck_assert_int_eq(setsockopt(listeners[i], SOL_SOCKET, SO_REUSEPORT, &(int){1}, sizeof(int)),
                         0);
        ck_assert_int_eq(bind(listeners[i], (struct sockaddr *)&address, sizeof address), 0);
        ck_assert_int_eq(listen(listeners[i], 1), 0);
        ck_assert_int_eq(getsockname(listeners[i], (struct sockaddr *)&address, &len), 0);
    }
    ck_assert_int_eq(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_uint_eq(other_end_of(&look, client), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(net_look_find(&look, getpid(), inode_of(listeners[i]), &s), NET_KNOWN);
    close(listeners[0]);
    close(listeners[1]);
    close(client);
    net_look_release(&look);
}
END_TEST

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

/* They are whom the clients of others wait for that nobody has accepted. */
START_TEST(who_listens_is_known_unasked)
{
    struct net_look look = {0};
    struct net_socket s;
    struct pair p = connect_pair();
    ck_assert_int_eq(net_look_find(&look, getpid(), inode_of(p.client), &s), NET_UNKNOWN);
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
           the_other_end_on_this_machine_is_found, of_several_that_listen_none_is_the_other_end,
           ends_of_two_versions_are_found, who_listens_is_known_unasked,
           what_a_reading_did_not_come_to_is_asked_for_again,
           what_no_reading_reaches_is_given_up_and_counted)
