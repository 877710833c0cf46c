/* The TCP and UDP sockets of a process's network namespace: TCP in wallspy's own by net_diag.h, all
 * else as /proc lists them.
 * Source: proc_pid_net(5) tcp, tcp6, udp, udp6; net/ipv4/tcp_ipv4.c get_tcp4_sock();
 * include/net/tcp_states.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

enum { NET_ESTABLISHED = 1, NET_SYN_SENT = 2, NET_LISTEN = 10 };

struct net_address {
    uint8_t bytes[16]; /* in network order; of version 4 the first four */
    bool v6;
    uint16_t port;
};
struct net_socket {
    struct net_address local, remote;
    uint64_t inode;              /* 0: no descriptor leads to it */
    unsigned state;              /* NET_…, or another number below 16 */
    uint64_t tx_bytes, rx_bytes; /* not acknowledged; not read, of a listener: not accepted */
    uint32_t room;               /* of a listener: how many may wait to be accepted; 0: unknown */
    bool udp;
    /* By whoever keeps it: was it asked for, when was its table read (clock_now_ns()), and of which
     * namespace. */
    bool wished;
    int64_t read_ns;
    uint64_t space;
};

/* One line of such a table; V6: of tcp6 or udp6.  Returns 0 or -EPROTO (the heading, too). */
int net_socket_parse(const char *line, size_t len, bool v6, struct net_socket *ret);
struct net_visitor {
    /* Takes one socket.  False: no more. */
    bool (*each)(void *ctx, const struct net_socket *s);
    /* May connected ones of TCP over version 6 be left out?  NULL: no. */
    bool (*enough)(void *ctx);
    void *ctx;
};
/* Visits the sockets of PID's network namespace, listeners before those that are connected to them,
 * for at most LONGEST_CPU_NS of CPU time.  True: it saw all that the visitor wants. */
bool net_sockets_each(pid_t pid, int64_t longest_cpu_ns, const struct net_visitor *visitor);
/* Are A and B the same host and port?  A version 4 address in a version 6 socket is that one. */
bool net_address_same(const struct net_address *a, const struct net_address *b);
/* A as it is compared: the version 4 address in it, if there is one; the rest is 0. */
struct net_address net_address_plain(const struct net_address *a);
bool net_address_is_loopback(const struct net_address *a);
/* "127.0.0.1:5433", "[fe80::1]:80"; a version 4 address in a version 6 socket as the former. */
void net_address_add(struct text *out, const struct net_address *a);
void net_address_add_host(struct text *out, const struct net_address *a); /* without its port */
