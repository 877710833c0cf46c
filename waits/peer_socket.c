/* Sockets: the other end. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "target/proc.h"
#include "waits/net_diag.h"
#include "waits/peer_socket.h"
#include "waits/unix_peer.h"

static bool any_user(const struct fd_user *user, const void *ctx)
{
    (void)user;
    (void)ctx;
    return true;
}

static string_id path_of(struct peer_looks *l, const struct unix_socket *s)
{
    struct text tame = {0};
    text_add(&tame, "");
    text_add_tame(&tame, s->path, strnlen(s->path, sizeof s->path));
    string_id id = profile_string(l->profile, tame.s);
    text_release(&tame);
    return id;
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
    ret->side.timed = true;
    ret->side.blocker.net = NET_UNIX;
    if (socket.listens) {
        ret->side.thing = THING_SOCKET;
        ret->side.blocker.kind = BLOCKER_LISTENER;
        ret->side.blocker.host = path_of(l, &socket);
        return;
    }
    if (socket.peer) {
        (void)snprintf(link, sizeof link, "socket:[%llu]", (unsigned long long)socket.peer);
        ret->later = !peer_users_find(l, w, link, any_user, NULL, &users);
        (void)unix_socket_read(socket.peer, &other);
    }
    if (ret->later)
        return;
    ret->side.thing = THING_SOCKET;
    peer_users_answer(l, &users, ret);
    if (other.path[0])
        ret->side.blocker.host = path_of(l, &other);
}

/* The bytes on their way: a sender waits for room, any other thread for bytes to come. */
static void add_queue(const struct net_socket *s, bool sends, struct blocker *b)
{
    if (s->state == NET_SYN_SENT) {
        b->queue = QUEUE_NOT_CONNECTED;
    } else if (!sends) {
        b->queue = s->rx_bytes ? QUEUE_NOT_ALL_READ : QUEUE_NOTHING_RECEIVED;
        b->bytes = s->rx_bytes;
    } else if (s->tx_bytes) {
        b->queue = QUEUE_NOT_ALL_ACKNOWLEDGED;
        b->bytes = s->tx_bytes;
    }
}

struct blocker peer_of_socket(struct peer_looks *l, const struct net_socket *s, bool sends,
                              int64_t since_ns)
{
    bool listens = s->udp ? !s->remote.port : s->state == NET_LISTEN;
    struct blocker b = {.kind = listens ? BLOCKER_LISTENER : BLOCKER_PEER,
                        .net = s->udp ? NET_UDP : NET_TCP};
    peer_set_address(l, listens ? &s->local : &s->remote, &b);
    if (s->udp || listens)
        return b;
    if (net_look_serves(&l->net, s)) {
        b.kind = BLOCKER_CLIENT;
        b.local_port = s->local.port;
    }
    if (s->read_ns >= since_ns)
        add_queue(s, sends, &b);
    return b;
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
    ret->side.thing = THING_SOCKET;
    ret->side.timed = true;
    ret->side.blocker = peer_of_socket(l, &socket, sends, w->since_ns);
}
