/* The wait of a thread that is off the CPU, as data.  summary/wait_text.h puts it into words. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/ids.h"

enum wait_kind {
    WAIT_NONE,
    WAIT_CALL,          /* blocked in a system call */
    WAIT_CPU,           /* able to run, but on no CPU */
    WAIT_GIL,           /* in a system call, for Python's global lock */
    WAIT_PAGE,          /* in a page fault */
    WAIT_STOPPED,       /* by SIGSTOP and the like */
    WAIT_TRACED,        /* another program traces it; OBJECT: its pid, none if it is gone */
    WAIT_NOT_PERMITTED, /* the kernel does not let wallspy look */
    WAIT_IO_WORKER,     /* io_uring's, which waits for requests */
    WAIT_FROZEN,        /* its cgroup is frozen */
    WAIT_UNKNOWN,       /* outside of system calls; OBJECT: the kernel's function, if it tells */
};

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
    BLOCKER_PEER,     /* whoever is at HOST and PORT */
    BLOCKER_CLIENT,   /* a client at HOST and PORT, of the process's own LOCAL_PORT */
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
     * tid in that one's namespace. */
    pid_t pid, tid;
    string_id name; /* of process PID; of a THING_FILE its path */
    enum blocker_fate fate;
    enum blocker_net net;
    string_id host; /* "127.0.0.1", "[::1]"; of NET_UNIX the path.  None: not read */
    uint32_t port, local_port;
    uint32_t n; /* alike ones */
    enum blocker_queue queue;
    uint64_t bytes, inode, offset;
};
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

/* The other side of a wait, as it was read.  The bytes of a lock of the C library have this meaning
 * only if the functions on the stack wait for such a lock (summary/wait_side.h). */
struct wait_side {
    enum wait_thing thing;
    uint64_t addr; /* of the lock; 0: not kept */
    bool timed;    /* the wait has a time-out; of a socket's: it may have one */
    bool inside;   /* only a thread of its own process can end it, or a signal */
    bool single;   /* of THING_EVENTS: they are those of one connection, pipe or child */
    bool at_least; /* there are more than MORE */
    struct blocker blocker;
    /* Of a BLOCKER_SEVERAL the first processes; of THING_EVENTS what can end the wait, those that
     * say most first. */
    blocker_list list;
    uint32_t more; /* of THING_EVENTS: descriptors that are not listed */
};

/* The global variable that a lock of process PID is. */
enum { MOST_LOCK_NAMES = 64 };
struct lock_name {
    pid_t pid;
    uint64_t addr;
    string_id name; /* "": it is none */
};

struct wait {
    enum wait_kind kind;
    string_id call; /* the system call's name; WAIT_CALL, and WAIT_STOPPED in a call */
    /* The object of the call: a path, or a kind of object without one ("pipe", "socket",
     * "eventfd").  None: unknown, or the call has no file. */
    string_id object;
    mount_id mount; /* the mount of OBJECT, the path of a file; none: unknown, or a device */
    struct wait_side side;
};

/* ---- in a profile ---- */

struct profile;
wait_id profile_wait(struct profile *p, const struct wait *wait); /* same fields, same id */
/* NULL for none: the thread does not wait, or what for is unknown. */
const struct wait *profile_see_wait(const struct profile *p, wait_id id);
uint32_t profile_wait_count(const struct profile *p); /* ids run from 1 to this */
/* The list of B and what NEXT lists behind it; NEXT where there is no room. */
blocker_list profile_list_blocker(struct profile *p, const struct blocker *b, blocker_list next);
/* NULL: the list is empty. */
const struct listed_blocker *profile_see_blocker(const struct profile *p, blocker_list id);
/* Is the name of process PID's lock at ADDR unknown, with room for it (MOST_LOCK_NAMES)? */
bool profile_wants_lock(const struct profile *p, pid_t pid, uint64_t addr);
void profile_name_lock(struct profile *p, pid_t pid, uint64_t addr, const char *name);
const char *profile_lock_name(const struct profile *p, pid_t pid, uint64_t addr); /* "": unknown */
