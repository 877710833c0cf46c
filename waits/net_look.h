/* TCP and UDP sockets by their inodes.  Callers wish for some, and one reading serves all wishes,
 * because the kernel lists all sockets of a network namespace or none.  Connected ones that nobody
 * wished for are kept, too, as far as they are few.
 *
 * An inode is the same socket's for as long as that is open, and a connected socket keeps its
 * addresses: an answer may be used again. */
#pragma once

#include "base/hash.h"
#include "waits/net_sockets.h"

struct net_wish {
    uint64_t inode;
    pid_t pid; /* a process in whose namespace it is */
};
struct net_look {     /* zero-initialise */
    struct map known; /* inode → index of SOCKETS */
    struct map ends;  /* namespace and both addresses of a TCP socket → the same, or SEVERAL */
    struct net_socket *sockets;
    size_t n, capacity;
    struct map asked;  /* inodes that were, and are in no table, or were given up */
    struct map tries;  /* readings that ended too early, by inode */
    uint64_t given_up; /* sockets that no reading reached */
    int64_t missed_ns; /* when a socket was gone before its reading, for the last time; 0: never */
    int64_t reading_ns;
    uint64_t reading; /* the namespace that is being read */
    struct map wished;
    struct net_wish *wishes; /* those, for the next reading */
    size_t n_wishes, wishes_capacity;
    uint8_t listening[(UINT16_MAX + 1) / 8]; /* ports, of all namespaces */
};
enum net_known { NET_UNKNOWN, NET_KNOWN, NET_NO_SOCKET };
/* The socket with INODE.  Unknown: it is wished for now. */
enum net_known net_look_find(struct net_look *l, pid_t pid, uint64_t inode, struct net_socket *ret);
/* Is it known already?  Wishes for nothing. */
bool net_look_has(const struct net_look *l, uint64_t inode, struct net_socket *ret);
/* Is the other end of S, which is known, on this machine?  RET gets it; before it is accepted the
 * one that listens there. */
bool net_look_other_end(const struct net_look *l, const struct net_socket *s,
                        struct net_socket *ret);
/* The socket that listens where S is connected to, on this machine; of several its inode is 0. */
bool net_look_listener(const struct net_look *l, const struct net_socket *s,
                       struct net_socket *ret);
/* Will the next reading look for it? */
bool net_look_is_wished(const struct net_look *l, uint64_t inode);
/* A socket was closed before any reading: no reading needs to look for it. */
void net_look_note_gone(struct net_look *l);
/* Reads what is wished for.  False: nothing was. */
bool net_look_run(struct net_look *l, int64_t longest_cpu_ns);
/* Does a program listen on S's own port, so that the other side is a client of it? */
bool net_look_serves(const struct net_look *l, const struct net_socket *s);
void net_look_release(struct net_look *l);
