/* The other end of a socket. */
#pragma once

#include "waits/peer_looks.h"

void peer_find_socket(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret);

/* Whom a thread waits for that reads S, or accepts from it.  SENDS: it writes.  SINCE_NS: the bytes
 * on their way count if they were read since. */
struct blocker peer_of_socket(struct peer_looks *l, const struct net_socket *s, bool sends,
                              int64_t since_ns);
