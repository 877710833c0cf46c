/* The other side of a wait as fields: who has it, which end of a network it is, what an epoll
 * waits on.  Today struct wait_side has it in words, which worker/peer_*.c make: they are taken
 * apart here, and made again.  What does not give the same words again is kept as TEXT. */
#pragma once

#include "base/text.h"
#include "profile/wait.h"
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
enum end_queue { /* of the bytes on their way; BYTES, if they were counted */
                 QUEUE_UNTOLD,
                 QUEUE_NOT_CONNECTED,
                 QUEUE_NOTHING_RECEIVED,
                 QUEUE_NOT_ALL_READ,
                 QUEUE_NOT_ALL_ACKNOWLEDGED,
};
enum process_fate { FATE_GOES_ON, FATE_STOPPED, FATE_ENDED, FATE_MAIN_ENDED };
enum event_kind {
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
    enum event_kind kind;
    uint64_t n; /* alike ones */
    char *address, *thing, *name;
    pid_t pid;
    bool connecting; /* not connected yet */
    enum end_queue queue;
};
enum { SIDE_PROCESSES = 3, SIDE_EVENTS = 4 };
struct side_fields { /* zero-initialise */
    enum wait_holder holder;
    pid_t pid, tid;
    char *name; /* of the holder's process */
    enum process_fate fate;
    uint64_t children;  /* any of so many */
    uint64_t processes; /* so many have it; the first ones in LISTED */
    enum end_kind end;
    char *address;
    enum end_queue queue;
    uint64_t bytes;
    uint64_t more_events; /* beside EVENTS */
    bool at_least;        /* there are more than MORE_EVENTS */
    char *text;
    struct side_process listed[SIDE_PROCESSES];
    size_t n_listed;
    struct side_event events[SIDE_EVENTS];
    size_t n_events;
};

/* The fields' keys in a fixture. */
extern const struct field side_keys[], side_process_keys[], side_event_keys[];
extern const size_t n_side_keys, n_side_process_keys, n_side_event_keys;

/* SIDE's fields but those of the wait itself (thing, address, timed, inside).  WHAT: its words, ""
 * if there are none. */
void side_take_apart(struct side_fields *ret, const struct wait_side *side, const char *what);
/* Appends the words for a wait for THING; nothing if there are none. */
void side_add_what(struct text *out, const struct side_fields *side, enum wait_thing thing);
void side_release(struct side_fields *side);
