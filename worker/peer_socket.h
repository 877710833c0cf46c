/* The other end of a socket, and its words for peer_events.c. */
#pragma once

#include "worker/peer_looks.h"

void peer_find_socket(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret);

/* S, without what changes and with few distinct texts: "127.0.0.1:5433" (the other end),
 * "client of :8000" (of accepted connections, each of which has a port of its own), "listening on
 * 0.0.0.0:8000", "UDP 10.0.0.2:53". */
void peer_add_socket(const struct peer_looks *l, const struct net_socket *s, struct text *out);
/* The same in a frame's name, behind the call's: of a listener just its address. */
void peer_add_address(const struct peer_looks *l, const struct net_socket *s, struct text *out);
/* The same as what a thread waits for: "connections to 0.0.0.0:8000", "a client of :8000", in a
 * dump "client 10.0.0.7:40122". */
void peer_add_what(const struct peer_looks *l, const struct net_socket *s, struct text *out);
