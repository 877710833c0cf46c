/* The TCP connections that processes have open, so that those of other machines can be matched with
 * them: each end has the other one's addresses the other way round. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "waits/net_sockets.h"

enum { MOST_CONNECTIONS = 1024 }; /* of a process */
struct connection {
    pid_t pid;
    struct net_address local, remote;
};
struct connections { /* zero-initialise */
    struct connection *items;
    size_t n, capacity;
};

/* Adds those of PID, MOST_CONNECTIONS at most, with a look at its descriptors and one at the
 * sockets of its network namespace, for 50 ms of CPU time at most.  Nothing of a process whose
 * descriptors this user may not see. */
void connections_add(struct connections *c, pid_t pid);
void connections_release(struct connections *c);
