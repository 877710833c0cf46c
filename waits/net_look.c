#include "waits/net_look.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "target/proc.h"

enum {
    MOST_KNOWN = 1 << 14,
    MOST_UNASKED = 1 << 12, /* above, only what was wished for is kept */
    MOST_WISHES = 4096,
    MOST_NAMESPACES = 64,
    MOST_TRIES = 3, /* readings that end before they reach a socket */
};
#define SEVERAL UINT64_MAX /* listen on one address */

bool net_look_has(const struct net_look *l, uint64_t inode, struct net_socket *ret)
{
    uint64_t at;
    if (!map_get(&l->known, inode, &at))
        return false;
    *ret = l->sockets[at];
    return true;
}

/* ---- the other end ---- */

static uint64_t add_address(uint64_t hash, const struct net_address *a)
{
    struct net_address plain = net_address_plain(a);
    uint64_t port = (uint64_t)plain.port << 1 | plain.v6;
    return hash_u64(hash ^ hash_bytes(plain.bytes, sizeof plain.bytes)) ^ hash_u64(port);
}

/* Of TCP socket S, as a key of ENDS: one that listens has no other end. */
static uint64_t ends_key(const struct net_socket *s)
{
    static const struct net_address nobody = {.port = 0};
    uint64_t local = add_address(hash_u64(s->space), &s->local);
    return add_address(local, s->state == NET_LISTEN ? &nobody : &s->remote);
}

/* The socket with the addresses of WANTED.  Of several that listen none: its inode is 0. */
static bool find_ends(const struct net_look *l, const struct net_socket *wanted,
                      struct net_socket *ret)
{
    uint64_t at = 0;
    *ret = (struct net_socket){.inode = 0};
    if (!map_get(&l->ends, ends_key(wanted), &at) || at == SEVERAL)
        return at == SEVERAL;
    const struct net_socket *s = &l->sockets[at];
    bool listens = wanted->state == NET_LISTEN;
    if (s->space != wanted->space || listens != (s->state == NET_LISTEN) ||
        !net_address_same(&s->local, &wanted->local) ||
        (!listens && !net_address_same(&s->remote, &wanted->remote)))
        return false;
    *ret = *s;
    return true;
}

/* Is S connected to an address of this machine? */
static bool is_local(const struct net_socket *s)
{
    struct net_address own = s->local;
    own.port = s->remote.port;
    return !s->udp && s->remote.port &&
           (net_address_is_loopback(&s->remote) || net_address_same(&own, &s->remote));
}

/* The socket to which S is connected; its inode is 0 before it is accepted. */
static bool find_connected(const struct net_look *l, const struct net_socket *s,
                           struct net_socket *ret)
{
    const struct net_socket wanted = {
        .local = s->remote, .remote = s->local, .state = NET_ESTABLISHED, .space = s->space};
    return is_local(s) && find_ends(l, &wanted, ret);
}

/* At that address, at all of version 4, or at all. */
bool net_look_listener(const struct net_look *l, const struct net_socket *s, struct net_socket *ret)
{
    struct net_socket wanted = {.local = s->remote, .state = NET_LISTEN, .space = s->space};
    if (!is_local(s))
        return false;
    if (find_ends(l, &wanted, ret))
        return true;
    wanted.local = (struct net_address){.port = s->remote.port};
    if (!net_address_plain(&s->remote).v6 && find_ends(l, &wanted, ret))
        return true;
    wanted.local.v6 = true;
    return find_ends(l, &wanted, ret);
}

bool net_look_other_end(const struct net_look *l, const struct net_socket *s,
                        struct net_socket *ret)
{
    return find_connected(l, s, ret) &&
           (ret->inode || (net_look_listener(l, s, ret) && ret->inode));
}

/* ---- wishes ---- */

static void wish(struct net_look *l, pid_t pid, uint64_t inode)
{
    uint64_t unused;
    if (l->n_wishes == MOST_WISHES || map_get(&l->wished, inode, &unused))
        return;
    map_put(&l->wished, inode, 1);
    l->wishes = array_reserve(l->wishes, &l->wishes_capacity, l->n_wishes + 1, sizeof *l->wishes);
    l->wishes[l->n_wishes++] = (struct net_wish){inode, pid};
}

/* Is there more to know of the other end of S than a reading told?  It may be accepted by now, or
 * in a table that was not read for S. */
static bool may_know_more(const struct net_look *l, const struct net_socket *s)
{
    struct net_socket other;
    if (find_connected(l, s, &other))
        return !other.inode && clock_now_ns() - other.read_ns > NS_PER_S;
    return is_local(s) && !s->wished;
}

enum net_known net_look_find(struct net_look *l, pid_t pid, uint64_t inode, struct net_socket *ret)
{
    uint64_t unused;
    if (net_look_has(l, inode, ret)) {
        if (may_know_more(l, ret))
            wish(l, pid, inode);
        return NET_KNOWN;
    }
    if (map_get(&l->asked, inode, &unused))
        return NET_NO_SOCKET;
    wish(l, pid, inode);
    return NET_UNKNOWN;
}

bool net_look_is_wished(const struct net_look *l, uint64_t inode)
{
    uint64_t unused;
    return map_get(&l->wished, inode, &unused);
}

static void set_listening(struct net_look *l, uint16_t port)
{
    l->listening[port / 8] |= (uint8_t)(1U << port % 8);
}

/* ---- a reading ---- */

/* A thread that begins to wait a moment after the reading asks for its socket then, and the next
 * reading may be seconds away.  So connected sockets are kept unasked, and for their other ends
 * those that listen and those that nobody has accepted yet. */
static bool is_kept(const struct net_look *l, const struct net_socket *s)
{
    bool listens = s->state == NET_LISTEN && !s->udp;
    bool connected = s->remote.port && (s->inode || s->state == NET_ESTABLISHED);
    uint64_t unused;
    bool before = s->inode && map_get(&l->known, s->inode, &unused);
    return s->wished || before || ((listens || connected) && l->n < MOST_UNASKED);
}

/* Where S was kept before, or an earlier connection with its addresses; else behind the last. */
static uint64_t place_of(struct net_look *l, const struct net_socket *s)
{
    uint64_t at;
    if (s->inode && map_get(&l->known, s->inode, &at))
        return at;
    if (!s->udp && s->state != NET_LISTEN && map_get(&l->ends, ends_key(s), &at) && at != SEVERAL &&
        ends_key(&l->sockets[at]) == ends_key(s)) {
        map_remove(&l->known, l->sockets[at].inode);
        return at;
    }
    l->sockets = array_reserve(l->sockets, &l->capacity, l->n + 1, sizeof *l->sockets);
    return l->n++;
}

/* Does another socket than AT, with its addresses, listen, too? */
static bool listen_several(const struct net_look *l, uint64_t at)
{
    uint64_t other;
    const struct net_socket *s = &l->sockets[at];
    if (s->state != NET_LISTEN || !map_get(&l->ends, ends_key(s), &other) || other == at)
        return false;
    return other == SEVERAL || l->sockets[other].read_ns == s->read_ns;
}

/* Puts the socket AT into the maps. */
static void enter(struct net_look *l, uint64_t at)
{
    const struct net_socket *s = &l->sockets[at];
    if (s->inode)
        map_put(&l->known, s->inode, at);
    if (!s->udp)
        map_put(&l->ends, ends_key(s), listen_several(l, at) ? SEVERAL : at);
}

static bool see_socket(void *ctx, const struct net_socket *socket)
{
    struct net_look *l = ctx;
    uint64_t unused;
    struct net_socket s = *socket;
    s.wished = s.inode && map_get(&l->wished, s.inode, &unused);
    s.read_ns = l->reading_ns;
    s.space = l->reading;
    if (s.state == NET_LISTEN && !s.udp)
        set_listening(l, s.local.port);
    if (!is_kept(l, &s))
        return true;
    uint64_t before = l->n;
    uint64_t at = place_of(l, &s);
    s.wished |= at < before && l->sockets[at].inode == s.inode && l->sockets[at].wished;
    l->sockets[at] = s;
    enter(l, at);
    return true;
}

/* Is all known of S and its other end that this reading can tell? */
static bool is_read(const struct net_look *l, const struct net_socket *s)
{
    struct net_socket other;
    if (s->read_ns != l->reading_ns || !is_local(s))
        return s->read_ns == l->reading_ns;
    return find_connected(l, s, &other) && (other.inode || other.read_ns == l->reading_ns);
}

static bool all_are_known(void *ctx)
{
    const struct net_look *l = ctx;
    struct net_socket s;
    for (size_t i = 0; i < l->n_wishes; i++)
        if (!net_look_has(l, l->wishes[i].inode, &s) || !is_read(l, &s))
            return false;
    return true;
}

/* Reads the sockets of the namespaces of all wishes, each once.  False: not all of them. */
static bool read_tables(struct net_look *l, int64_t longest_cpu_ns)
{
    const struct net_visitor visitor = {see_socket, all_are_known, l};
    uint64_t done[MOST_NAMESPACES];
    size_t n = 0;
    bool all = true;
    for (size_t i = 0; i < l->n_wishes; i++) {
        uint64_t ns = proc_net_namespace(l->wishes[i].pid);
        size_t k = 0;
        while (k < n && done[k] != ns)
            k++;
        if (!ns || k < n || n == MOST_NAMESPACES)
            continue;
        done[n++] = ns;
        l->reading = ns;
        all &= net_sockets_each(l->wishes[i].pid, longest_cpu_ns, &visitor);
    }
    return all;
}

/* Forgets what is known, so that it is read anew: how much was received changes. */
static void forget(struct net_look *l)
{
    map_clear(&l->known);
    map_clear(&l->ends);
    map_clear(&l->asked);
    map_clear(&l->tries);
    l->n = 0;
}

/* Makes room: those that the last reading did not see have ended, or are read when they are asked
 * for. */
static void drop_unseen(struct net_look *l)
{
    size_t kept = 0;
    map_clear(&l->known);
    map_clear(&l->ends);
    for (size_t i = 0; i < l->n; i++) {
        if (l->sockets[i].read_ns != l->reading_ns)
            continue;
        l->sockets[kept] = l->sockets[i];
        enter(l, kept++);
    }
    l->n = kept;
}

/* Of the sockets that a reading did not find: none that it would have found is asked for again, and
 * no other for ever. */
static void note_not_found(struct net_look *l, uint64_t inode, bool all)
{
    uint64_t tries = 0;
    (void)map_get(&l->tries, inode, &tries);
    if (!all)
        map_put(&l->tries, inode, ++tries);
    if (!all && tries < MOST_TRIES)
        return;
    map_put(&l->asked, inode, 1);
    l->given_up += !all;
    if (all)
        l->missed_ns = l->reading_ns;
}

void net_look_note_gone(struct net_look *l)
{
    l->missed_ns = clock_now_ns();
}

bool net_look_run(struct net_look *l, int64_t longest_cpu_ns)
{
    uint64_t unused;
    if (!l->n_wishes)
        return false;
    if (l->n + l->asked.n + l->tries.n > MOST_KNOWN)
        forget(l);
    l->reading_ns = clock_now_ns();
    bool all = read_tables(l, longest_cpu_ns);
    if (l->n >= MOST_UNASKED)
        drop_unseen(l);
    for (size_t i = 0; i < l->n_wishes; i++)
        if (!map_get(&l->known, l->wishes[i].inode, &unused))
            note_not_found(l, l->wishes[i].inode, all);
    l->n_wishes = 0;
    map_clear(&l->wished);
    return true;
}

bool net_look_serves(const struct net_look *l, const struct net_socket *s)
{
    return l->listening[s->local.port / 8] >> s->local.port % 8 & 1;
}

void net_look_release(struct net_look *l)
{
    map_release(&l->known);
    map_release(&l->ends);
    map_release(&l->asked);
    map_release(&l->tries);
    map_release(&l->wished);
    free(l->sockets);
    free(l->wishes);
    *l = (struct net_look){0};
}
