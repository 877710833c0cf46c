/* Looks at everything that /proc and sock_diag(7) show of the other sides of waits, and what a wait
 * asks of them and gets.  Private to wait_peer.c and peer_*.c.
 *
 * Where all processes' descriptors, all sockets or all processes have to be looked at, the wait is
 * only put down for that (`later`), so that one look serves many waits. */
#pragma once

#include "arch/syscalls.h"
#include "profile/profile.h"
#include "target/mem.h"
#include "target/process_list.h"
#include "waits/descriptor.h"
#include "waits/fd_scan.h"
#include "waits/net_look.h"

enum { MOST_ASKED = 32 };
/* The looks that waits were put down for.  Zero-initialise but for PROFILE, which is borrowed. */
struct peer_looks {
    struct profile *profile; /* for names */
    bool is_dump; /* of a socket what is on its way is told, too: it changes all the time */
    struct net_look net;
    struct fd_scan scan;
    struct process_list processes;
    bool want_processes;
    int64_t listed_ns;          /* when PROCESSES was read */
    uint64_t asked[MOST_ASKED]; /* whose users were asked for, since the caller set N_ASKED to 0 */
    size_t n_asked;
};
/* Were waits put down for a look? */
bool peer_looks_wanted(const struct peer_looks *l);
/* Makes the looks that waits were put down for; false: there were none. */
bool peer_looks_run(struct peer_looks *l, int64_t longest_cpu_ns);
void peer_looks_release(struct peer_looks *l);

struct peer_wait {
    pid_t pid, tid;     /* the thread, and its process */
    bool own_namespace; /* of pids, which is wallspy's */
    int64_t since_ns;   /* looks from before are no answer */
    bool over;          /* it has ended: what is on its way now is another wait's */
    int64_t number;
    const uint64_t *args;
    struct mem *live;
    uint64_t fd;                      /* the descriptor, if it waits for just one */
    enum syscall_flow flow;           /* what it waits to do with that */
    char link[DESCRIPTOR_LINK_BYTES]; /* of that; "": none */
};
struct peer_answer {       /* zero-initialise */
    bool later;            /* not known before peer_looks_run() */
    bool young;            /* its process has maybe not called execve yet: it may change its name */
    struct wait_side side; /* no thing: nothing can be said */
    /* The process that has the other end, the descriptor by which it has that, and what this leads
     * to (fd_scan_key()); 0: nobody has. */
    pid_t pid;
    uint64_t fd, link;
    /* Of an epoll whose other sides all can be checked again: descriptor_epoll_key(); else 0. */
    uint64_t list;
};
/* B gets process PID, called COMM; COMM NULL: as /proc says now.  False: it has ended. */
bool peer_set_process(struct peer_looks *l, pid_t pid, const char *comm, struct blocker *b);
/* HOST and PORT of B get those of A. */
void peer_set_address(struct peer_looks *l, const struct net_address *a, struct blocker *b);

/* The only process but SELF that has LINK open as ACCEPT says; SELF only if there is no other, or
 * it has other threads, which may be meant, too. */
enum { MOST_NAMED_USERS = 3 };
struct peer_users {
    size_t n; /* processes */
    struct fd_user first[MOST_NAMED_USERS];
};
/* False: a scan has to come first, for which LINK was put down. */
bool peer_users_find(struct peer_looks *l, const struct peer_wait *w, const char *link,
                     bool (*accept)(const struct fd_user *user, const void *ctx), const void *ctx,
                     struct peer_users *ret);
/* RET gets the process of USERS, if it is one, or their number and the first of them. */
void peer_users_answer(struct peer_looks *l, const struct peer_users *users,
                       struct peer_answer *ret);
