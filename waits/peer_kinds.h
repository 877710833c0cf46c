/* One function for each row of peer_find.c's table. */
#pragma once

#include "waits/peer_looks.h"

void peer_find_child(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret);
void peer_find_lock(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret);
/* A call that reads or writes a descriptor: a pipe, a FIFO or a socket. */
void peer_find_stream(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret);
void peer_find_events(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret);
