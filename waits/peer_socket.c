/* Sockets: the other end. */
#include <stdio.h>
#include <string.h>

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

/* The processes that have the socket with INODE open; false: a look has to come first. */
static bool find_users(struct peer_looks *l, const struct peer_wait *w, uint64_t inode,
                       struct peer_users *ret)
{
    char link[32];
    (void)snprintf(link, sizeof link, "socket:[%llu]", (unsigned long long)inode);
    return peer_users_find(l, w, link, any_user, NULL, ret);
}

static void find_unix(struct peer_looks *l, const struct peer_wait *w, uint64_t inode,
                      struct peer_answer *ret)
{
    struct unix_socket socket;
    struct unix_socket other = {0};
    struct peer_users users = {0};
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
        ret->later = !find_users(l, w, socket.peer, &users);
        (void)unix_socket_read(socket.peer, &other);
    }
    if (ret->later)
        return;
    ret->side.thing = THING_SOCKET;
    peer_users_answer(l, &users, ret);
    if (!other.path[0])
        return;
    ret->side.blocker.host = path_of(l, &other);
    if (ret->side.blocker.kind == BLOCKER_UNKNOWN) /* another user's: the path says which */
        ret->side.blocker.kind = BLOCKER_PEER;
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

/* Can the process at the other end of S be found?  A server that waits for a client's next request
 * waits for nobody that would be worth a search. */
static bool may_have_process(const struct peer_looks *l, const struct net_socket *s, bool sends,
                             struct net_socket *ret_other)
{
    return (sends || !net_look_serves(&l->net, s)) && net_look_other_end(&l->net, s, ret_other);
}

/* The process that has OTHER, the other end, if it is the only one. */
static void find_process(struct peer_looks *l, const struct peer_wait *w,
                         const struct net_socket *other, struct peer_answer *ret)
{
    struct peer_users users;
    const enum blocker_kind kind = ret->side.blocker.kind;
    ret->later = !find_users(l, w, other->inode, &users);
    if (ret->later || users.n != 1)
        return;
    peer_users_answer(l, &users, ret);
    ret->side.blocker.kind = kind;
}

bool peer_has_process(const struct peer_looks *l, const struct net_socket *s,
                      enum syscall_flow flow)
{
    struct net_socket other;
    return may_have_process(l, s, flow == FLOW_OUT, &other);
}

/* A recording keeps each wait once: of the bytes on their way it would keep one for every count. */
static void keep_if_connecting(struct blocker *b)
{
    if (b->queue != QUEUE_NOT_CONNECTED)
        b->queue = QUEUE_UNTOLD;
    b->bytes = 0;
}

void peer_answer_socket(struct peer_looks *l, const struct peer_wait *w, const struct net_socket *s,
                        struct peer_answer *ret)
{
    struct net_socket other;
    bool sends = w->flow == FLOW_OUT;
    ret->side.thing = THING_SOCKET;
    ret->side.timed = true;
    ret->side.blocker = peer_of_socket(l, s, sends, w->over ? INT64_MAX : w->since_ns);
    if (!l->is_dump)
        keep_if_connecting(&ret->side.blocker);
    if (may_have_process(l, s, sends, &other))
        find_process(l, w, &other, ret);
}

bool peer_socket_is_unix(const struct peer_looks *l, pid_t pid, uint64_t inode)
{
    struct net_socket known;
    struct unix_socket socket;
    return !net_look_has(&l->net, inode, &known) && net_is_here(pid) &&
           unix_socket_read(inode, &socket) == 0;
}

void peer_find_socket(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret)
{
    struct net_socket socket;
    uint64_t inode;
    (void)descriptor_parse_link(w->link, &inode);
    if (peer_socket_is_unix(l, w->pid, inode)) {
        find_unix(l, w, inode, ret);
        return;
    }
    switch (net_look_find(&l->net, w->pid, inode, &socket)) {
    case NET_UNKNOWN:
        ret->later = true;
        return;
    case NET_NO_SOCKET:
        find_unix(l, w, inode, ret);
        return;
    case NET_KNOWN:
        peer_answer_socket(l, w, &socket, ret);
    }
}
