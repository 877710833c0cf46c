#include "waits/net_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"

enum {
    MOST_KNOWN = 1 << 14,
    MOST_UNASKED = 1 << 12, /* above, only what was wished for is kept */
    MOST_WISHES = 4096,
    MOST_NAMESPACES = 64,
    MOST_TRIES = 3, /* readings that end before they reach a socket */
};

bool net_look_has(const struct net_look *l, uint64_t inode, struct net_socket *ret)
{
    uint64_t at;
    if (!map_get(&l->known, inode, &at))
        return false;
    *ret = l->sockets[at];
    return true;
}

static void wish(struct net_look *l, pid_t pid, uint64_t inode)
{
    uint64_t unused;
    if (l->n_wishes == MOST_WISHES || map_get(&l->wished, inode, &unused))
        return;
    map_put(&l->wished, inode, 1);
    l->wishes = array_reserve(l->wishes, &l->wishes_capacity, l->n_wishes + 1, sizeof *l->wishes);
    l->wishes[l->n_wishes++] = (struct net_wish){inode, pid};
}

enum net_known net_look_find(struct net_look *l, pid_t pid, uint64_t inode, struct net_socket *ret)
{
    uint64_t unused;
    if (net_look_has(l, inode, ret))
        return NET_KNOWN;
    if (map_get(&l->asked, inode, &unused))
        return NET_NO_SOCKET;
    wish(l, pid, inode);
    return NET_UNKNOWN;
}

static void set_listening(struct net_look *l, uint16_t port)
{
    l->listening[port / 8] |= (uint8_t)(1U << port % 8);
}

/* A thread that begins to wait a moment after the reading asks for its socket then, and the next
 * reading may be seconds away.  So connected sockets are kept unasked. */
static bool is_kept(const struct net_look *l, const struct net_socket *s)
{
    uint64_t unused;
    return map_get(&l->wished, s->inode, &unused) || (s->remote.port && l->n < MOST_UNASKED);
}

static bool see_socket(void *ctx, const struct net_socket *s)
{
    struct net_look *l = ctx;
    uint64_t unused;
    if (s->state == NET_LISTEN && !s->udp)
        set_listening(l, s->local.port);
    if (!s->inode || !is_kept(l, s) || map_get(&l->known, s->inode, &unused))
        return true;
    l->sockets = array_reserve(l->sockets, &l->capacity, l->n + 1, sizeof *l->sockets);
    l->sockets[l->n] = *s;
    l->sockets[l->n].read_ns = l->reading_ns;
    map_put(&l->known, s->inode, l->n++);
    return true;
}

static bool all_are_known(void *ctx)
{
    const struct net_look *l = ctx;
    uint64_t unused;
    for (size_t i = 0; i < l->n_wishes; i++)
        if (!map_get(&l->known, l->wishes[i].inode, &unused))
            return false;
    return true;
}

static uint64_t namespace_of(pid_t pid)
{
    struct stat st;
    char path[48];
    (void)snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Reads the sockets of the namespaces of all wishes, each once.  False: not all of them. */
static bool read_tables(struct net_look *l, int64_t longest_cpu_ns)
{
    const struct net_visitor visitor = {see_socket, all_are_known, l};
    uint64_t done[MOST_NAMESPACES];
    size_t n = 0;
    bool all = true;
    for (size_t i = 0; i < l->n_wishes; i++) {
        uint64_t ns = namespace_of(l->wishes[i].pid);
        size_t k = 0;
        while (k < n && done[k] != ns)
            k++;
        if (!ns || k < n || n == MOST_NAMESPACES)
            continue;
        done[n++] = ns;
        all &= net_sockets_each(l->wishes[i].pid, longest_cpu_ns, &visitor);
    }
    return all;
}

/* Forgets what is known, so that it is read anew: how much was received changes. */
static void forget(struct net_look *l)
{
    map_clear(&l->known);
    map_clear(&l->asked);
    map_clear(&l->tries);
    l->n = 0;
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
    map_release(&l->asked);
    map_release(&l->tries);
    map_release(&l->wished);
    free(l->sockets);
    free(l->wishes);
    *l = (struct net_look){0};
}
