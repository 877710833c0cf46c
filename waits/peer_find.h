/* The other side of one wait that lies in the kernel: a child, a file's lock, a pipe, a socket, or
 * what an epoll, poll or select waits on. */
#pragma once

#include "waits/peer_looks.h"

/* May a wait in call NUMBER have another side that is found here? */
bool peer_may_be_found(int64_t number);
/* May call NUMBER wait for a file's lock?  Who had that, nobody can tell when the wait is over. */
bool peer_is_file_lock(int64_t number);
/* W's thread is blocked in the call.  Fills RET. */
void peer_find(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret);

/* ---- one function for each row of the table, in a peer_NAME.c ---- */

void peer_find_child(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret);
void peer_find_lock(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret);
/* A call that reads or writes a descriptor: a pipe, a FIFO or a socket. */
void peer_find_stream(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret);
/* Of a FIFO, whose other end nobody has open. */
void peer_find_open(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret);
void peer_find_events(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret);
