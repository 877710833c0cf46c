#include "waits/listeners.h"

#include <stdio.h>

#include "base/clock.h"

enum { MOST_LOOKS = 4 };
static const int64_t longest_look_ns = 30 * (int64_t)NS_PER_MS;

/* Where a connection leads. */
struct place {
    string_id host;
    uint32_t port;
    uint64_t inode; /* of the socket that listens there; 0: not known */
    uint32_t room;  /* as in struct listener */
};
struct places {
    struct place items[MOST_LISTENERS];
    size_t n;
};

/* ---- the places ---- */

static void add_place(const struct blocker *b, struct map *sought, struct places *ret)
{
    uint64_t key = (uint64_t)b->host.ix << 32 | b->port;
    uint64_t unused;
    if (b->kind != BLOCKER_PEER || b->net != NET_TCP || !b->host.ix || b->pid ||
        ret->n == MOST_LISTENERS || map_get(sought, key, &unused))
        return;
    map_put(sought, key, 1);
    ret->items[ret->n++] = (struct place){.host = b->host, .port = b->port};
}

static void collect_places(const struct profile *p, struct map *sought, struct places *ret)
{
    for (uint32_t i = 1; i <= profile_wait_count(p); i++) {
        const struct wait_side *side = &profile_see_wait(p, (wait_id){i})->side;
        const struct listed_blocker *one = profile_see_blocker(p, side->list);
        add_place(&side->blocker, sought, ret);
        for (; one; one = profile_see_blocker(p, one->next))
            add_place(&one->blocker, sought, ret);
    }
}

static bool leads_to(struct peer_looks *l, const struct net_socket *s, const struct place *place)
{
    struct blocker b = {.kind = BLOCKER_PEER};
    if (s->remote.port != place->port)
        return false;
    peer_set_address(l, &s->remote, &b);
    return b.host.ix == place->host.ix;
}

/* The sockets were read when the waits were looked at. */
static void find_sockets(struct peer_looks *l, struct places *places)
{
    struct net_socket listener;
    for (size_t k = 0; k < places->n; k++)
        for (size_t i = 0; i < l->net.n && !places->items[k].inode; i++)
            if (leads_to(l, &l->net.sockets[i], &places->items[k]) &&
                net_look_listener(&l->net, &l->net.sockets[i], &listener)) {
                places->items[k].inode = listener.inode;
                places->items[k].room = listener.room;
            }
}

/* ---- the processes ---- */

static uint64_t link_of(const struct place *place)
{
    char link[32];
    (void)snprintf(link, sizeof link, "socket:[%llu]", (unsigned long long)place->inode);
    return fd_scan_key(link);
}

static bool scan(struct peer_looks *l, const struct places *places)
{
    bool done = true;
    int64_t since_ns = clock_now_ns();
    for (int look = 0; look <= MOST_LOOKS; look++) {
        done = true;
        for (size_t i = 0; i < places->n; i++)
            done &= !places->items[i].inode ||
                    fd_scan_has(&l->scan, link_of(&places->items[i]), since_ns);
        if (done || look == MOST_LOOKS)
            break;
        fd_scan_run(&l->scan, longest_look_ns);
    }
    return done && l->scan.last.whole;
}

/* The processes that have the socket which listens at PLACE, recorded ones or the others. */
static struct listener listener_of(const struct peer_looks *l, const struct place *place,
                                   bool recorded)
{
    const struct fd_round *round = &l->scan.last;
    struct listener ret = {.host = place->host, .port = place->port, .room = place->room};
    uint64_t link = link_of(place);
    pid_t last = 0;
    for (size_t i = 0; i < round->n; i++) {
        pid_t pid = round->users[i].pid;
        if (round->users[i].link != link || pid == last)
            continue;
        if ((profile_find_process(l->profile, pid).ix != 0) != recorded)
            continue;
        last = pid;
        ret.pid = ret.pid ? ret.pid : pid;
        ret.n++;
    }
    return ret;
}

/* A process that waits for a server which it started may have the socket, too, without use. */
static void add_listener(struct peer_looks *l, const struct place *place)
{
    struct blocker b = {.kind = BLOCKER_UNKNOWN};
    struct listener found = listener_of(l, place, false);
    if (!found.pid)
        found = listener_of(l, place, true);
    if (!found.pid || !peer_set_process(l, found.pid, NULL, &b))
        return;
    found.name = b.name;
    profile_add_listener(l->profile, &found);
}

void listeners_find(struct peer_looks *l, struct map *sought)
{
    struct places places = {.n = 0};
    bool any = false;
    collect_places(l->profile, sought, &places);
    if (places.n)
        find_sockets(l, &places);
    for (size_t i = 0; i < places.n; i++)
        any |= places.items[i].inode != 0;
    if (!any || !scan(l, &places))
        return;
    for (size_t i = 0; i < places.n; i++)
        if (places.items[i].inode)
            add_listener(l, &places.items[i]);
}
