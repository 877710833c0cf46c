/* The holder of the lock that a blocked thread waits for: from the bytes that were recorded with
 * its stack to a thread of a recorded process.
 *
 * Bytes and wait are of one moment, because they were read between two equal run counts.  A holder
 * is named only if it is a thread that lives, or if it is proven that there is no such thread. */
#pragma once

#include "base/duty_cycle.h"
#include "base/hash.h"
#include "capture/message.h"
#include "pyframes/py_lock.h"
#include "waits/gil_watch.h"
#include "waits/shared_owner.h"
#include "waits/thread_ids.h"
#include "waits/wait_host.h"

/* A thread that waits for a lock now. */
struct lock_wait {
    struct message sample; /* the message that found it */
    uint64_t args[6];      /* of its call futex(2) */
    uint64_t addr;         /* of the lock; 0: not found yet */
    struct wait_side side;
    bool watched;           /* the sampler tells who has it: wait_owners_see_lock() */
    struct py_lock py_lock; /* addr 0: it is none of Python's */
    bool sought;            /* that lock's holder is still to be found */
    uint32_t tries;         /* times that it was sought */
    int64_t found_ns;       /* when it was looked at and found; 0: it was not */
    bool doubted;           /* another thread that waited for the same lock has stopped waiting */
    int64_t doubted_ns;     /* since when, at first (CLOCK_MONOTONIC) */
    int64_t passed_ns;      /* when one of Python's changed hands last, or the wait was sampled */
};

/* Zero-initialise but for the borrowed parts. */
struct wait_owners {
    const struct wait_host *host;
    struct profile *profile;
    bool only_once; /* each thread is looked at once: no duty cycle */
    struct gil_watch gil;
    struct thread_ids ids;
    struct shared_owners shared;
    struct lock_wait *waits;
    struct map wait_of_thread; /* index into WAITS by the sampler's number of the thread */
    size_t n_waits, waits_capacity;
    struct map read; /* hash of a call → index of the wait of it that was read again */
    bool any_doubted;
    size_t sought;               /* of Python's Locks, where the next search begins */
    struct duty_cycle searching; /* for Python's Locks, through the frames of all threads */
    struct py_stack scratch;     /* of that; its frames are ours */
    struct mem *blocks;          /* of that: the process's memory */
};
/* The other side of the futex(2) call that M's thread is blocked in.  RECORDED: M's memory.  The
 * wait is remembered until wait_owners_end_wait(). */
struct wait_side wait_owner_of_futex(struct wait_owners *w, const struct sample_message *m,
                                     struct mem *recorded);
/* The same of a thread of S that waits for a Lock or RLock of Python's.  OF_FUTEX: the answer of
 * wait_owner_of_futex(); PYTHON: its frames.  Nothing if the holder is unknown. */
struct wait_side wait_owner_of_py_lock(struct wait_owners *w, const struct wait_target *s,
                                       const struct sample_message *m,
                                       const struct wait_side *of_futex,
                                       const struct py_stack *python);
/* A wait has another holder than before, or an unknown one, from AT_NS on (CLOCK_MONOTONIC). */
typedef void (*wait_owners_changed)(void *ctx, uint32_t thread_no, const struct wait_side *side,
                                    int64_t at_ns);
/* The lock M was read: whoever waits for it has the holder that it names, from the middle between
 * this reading and the one before. */
void wait_owners_see_lock(struct wait_owners *w, const struct lock_message *m,
                          wait_owners_changed changed, void *ctx);
/* M, of any kind, says that its thread's wait is over.  A thread that wakes another gives it the
 * lock, and the others wait on, without having run, for another holder: of this wait that is
 * unknown, if it was not read again.  Call it before the time line of the thread is closed. */
void wait_owners_end_wait(struct wait_owners *w, const struct message *m,
                          wait_owners_changed changed, void *ctx);
/* Reads the locks again that may have changed hands, once for each wait, and looks for holders of
 * Python's Locks that were not found yet. */
void wait_owners_look_again(struct wait_owners *w, wait_owners_changed changed, void *ctx);
/* The holder of any lock may have changed; call wait_owners_look_again() next.  A thread that gives
 * up a lock wakes one thread, which need not be recorded. */
void wait_owners_doubt_all(struct wait_owners *w);
/* When there is something to look for (clock_now_ns()); INT64_MAX: nothing. */
int64_t wait_owners_due_ns(const struct wait_owners *w);
/* The same of a thread of process PROCESS that waits for the GIL that thread state HOLDER has. */
struct wait_side wait_owner_of_gil(const struct wait_owners *w, uint32_t process, uint64_t holder);
void wait_owners_release(struct wait_owners *w);
