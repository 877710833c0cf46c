/* Whom a thread waits for, as data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/ids.h"

/* The kind of thing for which a thread waits, and which another thread or process has, or is. */
enum wait_thing {
    THING_UNKNOWN,
    THING_MUTEX,
    THING_RWLOCK,
    THING_THREAD, /* its end: pthread_join() */
    THING_GIL,
    THING_PY_LOCK,   /* Python's Lock, RLock */
    THING_FILE_LOCK, /* of fcntl(2), flock(2) */
    THING_CHILD,     /* its end: wait4 */
    THING_PIPE,      /* its other end; also a FIFO's */
    THING_SOCKET,    /* its other end */
    THING_EVENTS,    /* the descriptors of an epoll, a poll or a select */
    /* Only of these descriptors: */
    THING_DESCRIPTOR,
    THING_FILE,
    THING_EPOLL,
    THING_EVENTFD,
    THING_TIMER,
    THING_SIGNALS,
    THING_INOTIFY,
    /* Only the functions on a stack say so (summary/once.h): it is never recorded. */
    THING_ONCE,
    THING_KINDS,
};

/* Whose end, message or lock a thread waits for. */
enum blocker_kind {
    BLOCKER_UNKNOWN,  /* nobody's, or it could not be read */
    BLOCKER_THREAD,   /* the thread TID of process PID */
    BLOCKER_PROCESS,  /* process PID, and no other that is visible; TID: its only thread, or 0 */
    BLOCKER_GONE,     /* TID, which is no thread of the process: it ended, or fork() came before */
    BLOCKER_CHILDREN, /* any of N children */
    BLOCKER_SEVERAL,  /* N processes; the first of them are listed */
    BLOCKER_PEER,     /* whoever is at HOST and PORT; PID, TID, NAME: that process, or 0 */
    BLOCKER_CLIENT,   /* a client there, of the process's own LOCAL_PORT; the same */
    BLOCKER_LISTENER, /* whoever comes to HOST and PORT, on which the process listens */
    BLOCKER_SHARED,   /* whoever has what lies at OFFSET of the file INODE, which is mapped */
    BLOCKER_ITSELF,   /* the process that waits: it wakes itself */
};
enum blocker_net { NET_NONE, NET_TCP, NET_UDP, NET_UNIX };
enum blocker_fate { FATE_GOES_ON, FATE_STOPPED, FATE_ENDED, FATE_MAIN_ENDED };
/* The bytes on their way; BYTES, if they were counted. */
enum blocker_queue {
    QUEUE_UNTOLD,
    QUEUE_NOT_CONNECTED,
    QUEUE_NOTHING_RECEIVED,
    QUEUE_NOT_ALL_READ,
    QUEUE_NOT_ALL_ACKNOWLEDGED,
};
/* Two are compared by all of their bytes: there are none between the fields. */
struct blocker {
    enum blocker_kind kind;
    enum wait_thing thing; /* of a listed one: what it has to do with */
    /* Ids are those of wallspy's pid namespace.  Of a BLOCKER_GONE: the process that waits, and a
     * tid in that one's namespace; of a BLOCKER_SHARED: the process that has it, where that was
     * found, and 0 or a tid in its holder's namespace. */
    pid_t pid, tid;
    string_id name; /* of process PID; of a THING_FILE and a BLOCKER_SHARED without PID its path */
    enum blocker_fate fate;
    enum blocker_net net;
    string_id host; /* "127.0.0.1", "[::1]"; of NET_UNIX the path.  None: not read */
    uint32_t port, local_port;
    uint32_t n; /* alike ones */
    enum blocker_queue queue;
    uint64_t bytes, inode, offset;
    uint64_t fd; /* by which another program has a pipe's end; 0: one of its standard three, … */
};
/* Is B known to be the process PID? */
static inline bool blocker_is_process(const struct blocker *b)
{
    static const unsigned kinds =
        1U << BLOCKER_PROCESS | 1U << BLOCKER_PEER | 1U << BLOCKER_CLIENT | 1U << BLOCKER_SHARED;
    return kinds >> b->kind & 1 && b->pid;
}
/* Are both the same process or thread? */
static inline bool blockers_are_same(const struct blocker *a, const struct blocker *b)
{
    return a->kind == b->kind && a->pid == b->pid && a->tid == b->tid;
}
typedef struct {
    uint32_t ix;
} blocker_list;
struct listed_blocker {
    struct blocker blocker;
    blocker_list next;
};

/* ---- in a profile ---- */

struct profile;
/* The list of B and what NEXT lists behind it; NEXT where there is no room. */
blocker_list profile_list_blocker(struct profile *p, const struct blocker *b, blocker_list next);
/* NULL: the list is empty. */
const struct listed_blocker *profile_see_blocker(const struct profile *p, blocker_list id);
