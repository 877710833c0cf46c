/* The wait of a thread that is off the CPU, as data.  summary/wait_text.h puts it into words. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/blocker.h"
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

/* The other side of a wait, as it was read.  The bytes of a lock of the C library have this meaning
 * only if the functions on the stack wait for such a lock (summary/wait_side.h). */
struct wait_side {
    enum wait_thing thing;
    uint64_t addr; /* of the lock; 0: not kept */
    bool timed;    /* the wait has a time-out; of a socket's: it may have one */
    bool expired;  /* and ended by it */
    bool inside;   /* only a thread of its own process can end it, a signal, or its time-out */
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

/* Who listened on a TCP port of this machine to which threads were connected, when the recording
 * ended.  That the other end of a connection is that process's, or a child's of it, is likely. */
enum { MOST_LISTENERS = 32 };
struct listener {
    string_id host; /* of the connections, not that on which it listens */
    uint32_t port;
    pid_t pid; /* the first of N processes that have the socket: of those not recorded, if any */
    string_id name;
    uint32_t n;
    uint32_t room; /* connections that may wait there to be accepted, listen(2); 0: unknown */
};

struct wait {
    enum wait_kind kind;
    string_id call; /* the system call's name; WAIT_CALL, and WAIT_STOPPED in a call */
    /* The object of the call: a path, or a kind of object without one ("pipe", "socket",
     * "eventfd"); "sleep" of a poll or a select without a descriptor, as time.sleep() of CPython up
     * to 3.10.  None: unknown, or the call has no file. */
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
/* One for each HOST and PORT, as long as there is room. */
void profile_add_listener(struct profile *p, const struct listener *l);
/* Who listens where B's connection leads; NULL: unknown. */
const struct listener *profile_listener(const struct profile *p, const struct blocker *b);
