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
    THING_KINDS,
};

/* Who has it. */
enum wait_holder {
    HOLDER_UNKNOWN, /* nobody, or it could not be read */
    HOLDER_THREAD,  /* the thread TID of process PID */
    HOLDER_PROCESS, /* process PID, and no other that is visible; TID: its only thread, or 0 */
    HOLDER_GONE, /* TID, which is no thread of the process: it ended, or fork() came in between */
};

/* The other side of a wait, as read from the object's memory.  The bytes of a lock of the C library
 * have this meaning only if the functions on the stack wait for such a lock
 * (summary/wait_side.h). */
struct wait_side {
    enum wait_thing thing;
    enum wait_holder holder;
    /* Of the holder, in wallspy's pid namespace.  Of a HOLDER_GONE: the process that waits, and the
     * holder's tid in that one's namespace. */
    pid_t pid, tid;
    uint64_t addr; /* of the lock; 0: not kept */
    bool timed;    /* the wait has a time-out; of a socket's: it may have one */
    bool inside;   /* only a thread of its own process can end it, or a signal */
    bool single;   /* of THING_EVENTS: they are those of one connection, pipe or child */
    /* The other side in words: of a HOLDER_PROCESS its name, "sleep"; else "127.0.0.1:5433, nothing
     * received", "4 connections to 127.0.0.1:5433", "2 processes", "2 processes: 7 (sh), 8 (cat)".
     * None: unknown. */
    string_id what;
};
/* Behind a child's name in WHAT.  The kernel's names, of 15 bytes at most, may have any part of
 * them. */
#define CHILD_IS_STOPPED     ", which is stopped"
#define CHILD_HAS_ENDED      ", which has ended"
#define CHILD_MAIN_HAS_ENDED ", whose main thread has ended"

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
/* Is the name of process PID's lock at ADDR unknown, with room for it (MOST_LOCK_NAMES)? */
bool profile_wants_lock(const struct profile *p, pid_t pid, uint64_t addr);
void profile_name_lock(struct profile *p, pid_t pid, uint64_t addr, const char *name);
const char *profile_lock_name(const struct profile *p, pid_t pid, uint64_t addr); /* "": unknown */
