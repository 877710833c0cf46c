/* Waiting calls that are made over and over, each by a thread of its own: what they wait on, what
 * ends the wait, and what they came to. */
#pragma once

#include <stddef.h>
#include <sys/types.h>
#include <time.h>

/* What a call came to: an errno, or one of these. */
enum { RIGHT = 0, SHORT = -1, ODD = -2 };
enum { CALL_BYTES = 4096, LONG_SECONDS = 30, MAX_CALLS = 40 };

struct call {
    const char *name;
    void (*prepare)(struct call *);
    int (*once)(struct call *, struct timespec wait); /* returns what it came to */
    void (*feed)(
        struct call *); /* makes what it waits for come about; NULL: it times out after WAIT */
    void (*release)(struct call *); /* what would outlive the program; may be NULL */
    int is_exact;                   /* never before its time-out, */
    long early_ns;                  /* by more than this */
    long own_wait_ns;               /* its time-out, if that is not WAIT */
    int fds[2];                     /* the thread's own end is the first */
    unsigned long context;
    void *memory;
    pid_t tid; /* of the thread that makes it, once it runs */
};

/* Each ends with one that has no name. */
extern struct call repaired_calls[], restarted_calls[], cut_calls[];
/* The time-out of sockets, which is set once. */
extern long socket_wait_ns;

/* Did it time out with WANTED (an errno; 0: by returning 0)? */
int timed_out(long r, int wanted);
int moved(ssize_t r, ssize_t wanted);
int milliseconds(struct timespec t); /* rounded up */
struct timespec from_now(clockid_t clock, struct timespec wait);
void must(long r, const char *what); /* fails if R < 0 */

void make_pipe(struct call *c);
void make_sockets(struct call *c); /* they wait for LONG_SECONDS */
void feed_byte(struct call *c);    /* into the other end */
void feed_signal(struct call *c);  /* SIGUSR1 to its thread */
void feed_eventfd(struct call *c); /* that is the other end */
void feed_nothing(struct call *c); /* it ends by itself, at no time that is known */
