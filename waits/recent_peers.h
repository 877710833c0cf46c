/* The processes that had the other end of a pipe or socket a moment ago, and what an epoll listed.
 * Many short waits at one pipe are a long wait to users, and none of them lasts until a search has
 * found the other end.  So a process that was found counts for later waits, too, as long as it
 * still has that end: it had the end before such a wait and after it.  The other sides of an
 * epoll's list count for as long as the list is the same. */
#pragma once

#include "base/duty_cycle.h"
#include "base/hash.h"
#include "profile/wait.h"
#include "waits/blocked_call.h"

struct recent_peer {
    struct wait_side side;
    pid_t pid;         /* the process; 0: none */
    uint64_t fd, link; /* its own, by which it has the end */
    /* Of an epoll: whose it is, its descriptor there, and descriptor_epoll_key(); else 0. */
    pid_t poller;
    uint64_t epoll, list;
    /* Private: when it was put, and was last found to be so still; a search for it is under way. */
    int64_t at_ns, checked_ns;
    struct duty_cycle checking;
    bool renewing;
};
struct recent_peers { /* zero-initialise */
    struct recent_peer *items;
    size_t n, capacity;
    struct map by_call; /* → index into ITEMS */
};
/* The other side of CALL, which has a link, was found to be PEER just now. */
void recent_peers_put(struct recent_peers *r, const struct blocked_call *call,
                      const struct recent_peer *peer);
/* Who has the other end of CALL's pipe or socket still, or the other sides of its epoll, until the
 * next call of a function of this file; NULL: nobody is known.  Sets RET_RENEW, once, where it is
 * time to search anew. */
const struct recent_peer *recent_peers_get(struct recent_peers *r, const struct blocked_call *call,
                                           bool *ret_renew);
/* Is it time to search for the other side of CALL? */
bool recent_peers_is_due(const struct recent_peers *r, const struct blocked_call *call);
void recent_peers_release(struct recent_peers *r);
