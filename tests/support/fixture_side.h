/* The other side of a wait as a fixture has it, and as the profile has it. */
#pragma once

#include "base/text.h"
#include "profile/profile.h"
#include "tests/support/fixture_line.h"

enum end_kind { /* of a network */
                END_NONE,
                END_PEER,      /* ADDRESS is the other end */
                END_LISTENER,  /* connections to ADDRESS are waited for */
                END_CLIENT,    /* ADDRESS is a client */
                END_CLIENT_OF, /* some client of the local ADDRESS, ":80" */
                END_UDP_LOCAL, /* any sender to ADDRESS */
                END_UDP_PEER,
};
enum side_event_kind {
    EVENT_NONE,
    EVENT_CONNECTION, /* to ADDRESS */
    EVENT_CLIENT,     /* of the local ADDRESS */
    EVENT_WAKE_UP,    /* by THING */
    EVENT_LISTENER,   /* on ADDRESS */
    EVENT_UDP_LOCAL,
    EVENT_UDP_PEER,
    EVENT_PIPE,   /* to process PID, if that is known; so the next ones */
    EVENT_SOCKET, /* or to ADDRESS */
    EVENT_END,    /* of a process */
    EVENT_OTHER,  /* THING: "a timer", a path */
};

struct side_process {
    pid_t pid;
    char *name;
};
struct side_event {
    enum side_event_kind kind;
    uint64_t n; /* alike ones */
    char *address, *thing, *name;
    pid_t pid;
    bool connecting; /* not connected yet */
    enum blocker_queue queue;
    enum blocker_fate fate; /* of PID */
};
enum { SIDE_PROCESSES = 3, SIDE_EVENTS = 4 };
struct side_fields {          /* zero-initialise */
    enum blocker_kind holder; /* a thread, a process, one that is gone; else none */
    pid_t pid, tid;
    char *name; /* of the holder's process */
    enum blocker_fate fate;
    uint64_t children;  /* any of so many */
    uint64_t processes; /* so many have it; the first ones in LISTED */
    enum end_kind end;
    char *address;
    uint32_t port; /* its own, of which ADDRESS is a client */
    enum blocker_queue queue;
    uint64_t bytes;
    uint64_t inode, offset; /* of a file that processes share */
    uint64_t more_events;   /* beside EVENTS */
    bool at_least;          /* there are more than MORE_EVENTS */
    struct side_process listed[SIDE_PROCESSES];
    size_t n_listed;
    struct side_event events[SIDE_EVENTS];
    size_t n_events;
};

/* The fields' keys in a fixture. */
extern const struct field side_keys[], side_process_keys[], side_event_keys[];
extern const size_t n_side_keys, n_side_process_keys, n_side_event_keys;

/* What WAIT, which is P's, says of its other side, but what a row `wait` has. */
void side_take(struct side_fields *ret, const struct profile *p, const struct wait *wait);
/* Gives it to WAIT. */
void side_give(const struct side_fields *side, struct profile *p, struct wait *wait);
void side_release(struct side_fields *side);
