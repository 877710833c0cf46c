/* The other end of a socket. */
#pragma once

#include "waits/peer_looks.h"

/* Is the socket INODE of process PID a unix one?  One that is in the tables of the network is not;
 * of others the kernel is asked, which takes less than to read those tables for nothing. */
bool peer_socket_is_unix(const struct peer_looks *l, pid_t pid, uint64_t inode);
/* Whom the wait W for a socket is for. */
void peer_find_socket(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret);

/* Whom a thread waits for that reads S, or accepts from it.  SENDS: it writes.  SINCE_NS: the bytes
 * on their way count if they were read since. */
struct blocker peer_of_socket(struct peer_looks *l, const struct net_socket *s, bool sends,
                              int64_t since_ns);
/* Whom W, a wait for S, is for; if the other end is on this machine, which process. */
void peer_answer_socket(struct peer_looks *l, const struct peer_wait *w, const struct net_socket *s,
                        struct peer_answer *ret);
/* Is it worth a search, which process has the other end of S, for which a thread waits to read or
 * write it (FLOW)? */
bool peer_has_process(const struct peer_looks *l, const struct net_socket *s,
                      enum syscall_flow flow);
