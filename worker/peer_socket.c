/* Sockets: the other end. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "target/net_diag.h"
#include "target/proc.h"
#include "target/unix_peer.h"
#include "worker/peer_socket.h"

static bool any_user(const struct fd_user *user, const void *ctx)
{
    (void)user;
    (void)ctx;
    return true;
}

static void find_unix(struct peer_looks *l, const struct peer_wait *w, uint64_t inode,
                      struct peer_answer *ret)
{
    struct unix_socket socket;
    struct unix_socket other = {0};
    struct peer_users users = {0};
    char link[32];
    if (!net_is_here(w->pid) || unix_socket_read(inode, &socket) < 0)
        return;
    ret->timed = true;
    if (socket.listens) {
        ret->thing = THING_SOCKET;
        text_add(&ret->what, "connections to unix:");
        text_add_tame(&ret->what, socket.path, strnlen(socket.path, sizeof socket.path));
        return;
    }
    if (socket.peer) {
        (void)snprintf(link, sizeof link, "socket:[%llu]", (unsigned long long)socket.peer);
        ret->later = !peer_users_find(l, w, link, any_user, NULL, &users);
        (void)unix_socket_read(socket.peer, &other);
    }
    if (ret->later)
        return;
    ret->thing = THING_SOCKET;
    peer_users_answer(l, &users, ret);
    if (other.path[0]) {
        text_add(&ret->address, "unix:");
        text_add_tame(&ret->address, other.path, strnlen(other.path, sizeof other.path));
    }
}

void peer_add_socket(const struct peer_looks *l, const struct net_socket *s, struct text *out)
{
    if (s->udp && !s->remote.port) {
        text_add(out, "UDP on ");
        net_address_add(out, &s->local);
    } else if (s->state == NET_LISTEN && !s->udp) {
        text_add(out, "listening on ");
        net_address_add(out, &s->local);
    } else if (!s->udp && net_look_serves(&l->net, s)) {
        text_addf(out, "client of :%u", s->local.port);
    } else {
        text_add(out, s->udp ? "UDP " : "");
        net_address_add(out, &s->remote);
    }
}

void peer_add_address(const struct peer_looks *l, const struct net_socket *s, struct text *out)
{
    if (s->state == NET_LISTEN && !s->udp)
        net_address_add(out, &s->local);
    else
        peer_add_socket(l, s, out);
}

void peer_add_what(const struct peer_looks *l, const struct net_socket *s, struct text *out)
{
    bool client = !s->udp && s->state != NET_LISTEN && net_look_serves(&l->net, s);
    if (s->state == NET_LISTEN && !s->udp) {
        text_add(out, "connections to ");
        net_address_add(out, &s->local);
    } else if (client && l->exact) {
        text_add(out, "client ");
        net_address_add(out, &s->remote);
    } else {
        text_add(out, client ? "a " : "");
        peer_add_socket(l, s, out);
    }
}

/* The bytes on their way: a sender waits for room, any other thread for bytes to come. */
static void add_queues(const struct peer_looks *l, const struct net_socket *s, bool sends,
                       struct text *out)
{
    if (s->udp || s->state == NET_LISTEN)
        return;
    if (s->state == NET_SYN_SENT) {
        text_add(out, ", not connected yet");
    } else if (!sends) {
        text_add(out, s->rx_bytes ? ", not all read" : ", nothing received");
        if (s->rx_bytes && l->exact)
            text_addf(out, " (%llu bytes wait)", (unsigned long long)s->rx_bytes);
    } else if (s->tx_bytes) {
        text_add(out, ", not all acknowledged");
        if (l->exact)
            text_addf(out, " (%llu bytes wait)", (unsigned long long)s->tx_bytes);
    }
}

void peer_find_socket(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret)
{
    struct net_socket socket;
    uint64_t inode;
    (void)descriptor_parse_link(w->link, &inode);
    switch (net_look_find(&l->net, w->pid, inode, &socket)) {
    case NET_UNKNOWN:
        ret->later = true;
        return;
    case NET_NO_SOCKET:
        find_unix(l, w, inode, ret);
        return;
    case NET_KNOWN:
        break;
    }
    bool sends = w->number == SYS_write || w->number == SYS_writev || w->number == SYS_sendto ||
                 w->number == SYS_sendmsg || w->number == SYS_sendmmsg || w->number == SYS_sendfile;
    ret->thing = THING_SOCKET;
    ret->timed = true;
    peer_add_address(l, &socket, &ret->address);
    peer_add_what(l, &socket, &ret->what);
    if (l->exact)
        add_queues(l, &socket, sends, &ret->what);
}
