#include "waits/recent_peers.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "waits/descriptor.h"
#include "waits/fd_scan.h"

enum {
    MOST = 1024,
    CHECK_NS = 5 * NS_PER_MS, /* there may be thousands of such waits a second */
    CHECK_SHARE = 200,        /* all checks have half a percent of a CPU: an epoll may be long */
};
static const int64_t believed_ns = NS_PER_S; /* what no check had time for is not known any more */
/* Where there are many processes a search is over a second or two after it was due. */
static const int64_t search_ns = INT64_C(3) * NS_PER_S;

/* After so long PEER is searched for anew.  A pipe's end is handed on; a connection's stays with
 * its process, mostly, and one that was not found, as of another user, goes on without. */
static int64_t renew_after_ns(const struct recent_peer *peer)
{
    if (peer->list)
        return INT64_C(4) * NS_PER_S;
    if (peer->side.blocker.net != NET_TCP)
        return NS_PER_S;
    return (blocker_is_process(&peer->side.blocker) ? INT64_C(4) : INT64_C(10)) * NS_PER_S;
}

static int64_t age_ns(const struct recent_peer *peer)
{
    return clock_now_ns() - peer->at_ns;
}

/* All epolls have the same link. */
static uint64_t call_key(const struct blocked_call *call)
{
    return hash_u64((uint64_t)call->process << 32 | (uint64_t)call->number) ^
           hash_u64(call->link ^ call->fd);
}

static struct recent_peer *find_recent(const struct recent_peers *r,
                                       const struct blocked_call *call)
{
    uint64_t at;
    return call->link && map_get(&r->by_call, call_key(call), &at) ? &r->items[at] : NULL;
}

void recent_peers_put(struct recent_peers *r, const struct blocked_call *call,
                      const struct recent_peer *peer)
{
    uint64_t at;
    if (!map_get(&r->by_call, call_key(call), &at)) {
        if (r->n == MOST) {
            r->n = 0;
            map_clear(&r->by_call);
        }
        at = r->n++;
        r->items = array_reserve(r->items, &r->capacity, r->n, sizeof *r->items);
        map_put(&r->by_call, call_key(call), at);
    }
    r->items[at] = *peer;
    r->items[at].at_ns = clock_now_ns();
}

static bool has_end(const struct recent_peer *peer)
{
    char link[DESCRIPTOR_LINK_BYTES];
    descriptor_read_link(peer->pid, peer->fd, link);
    return fd_scan_key(link) == peer->link;
}

static bool lists_the_same(const struct recent_peer *peer)
{
    char *info = xmalloc(FDINFO_BYTES);
    bool same = descriptor_read_info(peer->poller, peer->epoll, info, FDINFO_BYTES) >= 0 &&
                descriptor_epoll_key(info) == peer->list;
    free(info);
    return same;
}

static bool is_as_found(const struct recent_peers *r, struct recent_peer *peer)
{
    if (!peer->pid && !peer->list)
        return false;
    if (!duty_cycle_begin(&peer->checking))
        return clock_now_ns() - peer->checked_ns < believed_ns;
    bool same = (!peer->pid || has_end(peer)) && (!peer->list || lists_the_same(peer));
    duty_cycle_end(&peer->checking, CHECK_SHARE * (int64_t)r->n, CHECK_NS);
    peer->checked_ns = clock_now_ns();
    if (!same)
        *peer = (struct recent_peer){.fd = 0}; /* to be searched anew at once */
    return same;
}

const struct recent_peer *recent_peers_get(struct recent_peers *r, const struct blocked_call *call,
                                           bool *ret_renew)
{
    struct recent_peer *peer = find_recent(r, call);
    if (!peer || age_ns(peer) > renew_after_ns(peer) + search_ns || !is_as_found(r, peer))
        return NULL;
    if (!peer->renewing && age_ns(peer) > renew_after_ns(peer))
        *ret_renew = peer->renewing = true;
    return peer;
}

bool recent_peers_is_due(const struct recent_peers *r, const struct blocked_call *call)
{
    const struct recent_peer *peer = find_recent(r, call);
    return !peer || age_ns(peer) > renew_after_ns(peer);
}

void recent_peers_release(struct recent_peers *r)
{
    map_release(&r->by_call);
    free(r->items);
}
