/* The sampler's beliefs about a thread, until the thread's run count or a stop disproves them.
 *
 * A thread has three claims: of its last sample, of the moment when it was asked to stop, and of
 * the wait that a stop interrupted.  Only claim.c assigns them.  Nothing here makes a system call,
 * so a stop's handler may call it.  Private to sampler/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/snapshot.h"
#include "target/proc.h"

struct stop;
struct thread;

/* Where a thread is off the CPU. */
struct wait_place {
    int64_t syscall; /* its number; −1: outside of any, as in a page fault */
    uint64_t sp, pc; /* 0: nowhere */
};

struct claim {
    enum thread_state state;
    bool provable; /* off the CPU, it holds as long as the run count stays; while it waits for a
                      CPU, the run time, too: one that runs all the same shows by that */
    struct wait_place place; /* of a thread off the CPU */
    struct schedstat sched;  /* the thread's counts at that moment */
};

/* Does C hold for a thread whose counts are NOW? */
bool claim_holds(const struct claim *c, const struct schedstat *now);
bool claim_same_place(const struct wait_place *a, const struct wait_place *b);
/* Where T is as of VIEW. */
struct wait_place claim_place(const struct thread *t, const struct syscall_state *view);

/* ---- the last sample ---- */

/* T was sampled in STATE at PLACE, with the counts of t->sched. */
void claim_sampled(struct thread *t, enum thread_state state, struct wait_place place,
                   bool provable);
/* T was sampled in STATE: no run count proves that it stays so. */
void claim_sampled_once(struct thread *t, enum thread_state state);
/* T may have run since its sample. */
void claim_drop(struct thread *t);
/* Drops all claims of T. */
void claim_drop_all(struct thread *t);
/* T's sample holds until NOW_NS, as TICKS more have found. */
void claim_extend(struct thread *t, int64_t now_ns, uint32_t ticks);
/* A message has said for how long T's sample held; the next count begins at NOW_NS. */
void claim_emitted(struct thread *t, int64_t now_ns);

/* ---- the request to stop ---- */

/* T will be asked to stop: it was found in STATE.  It runs, or waits for a CPU. */
void claim_found(struct thread *t, enum thread_state state);
/* The same of a thread that is blocked at PLACE. */
void claim_found_blocked(struct thread *t, struct wait_place place, bool provable);
/* T is asked to stop at NOW_NS with the counts of t->sched.  Or: an earlier request counts from
 * then on. */
void claim_asked(struct thread *t, int64_t now_ns);
/* T, which was asked, has gone on into a fault at PLACE, where it waits at NOW_NS. */
void claim_asked_in_fault(struct thread *t, struct wait_place place, bool provable, int64_t now_ns);
/* The tick at NOW_NS found T still asked. */
void claim_still_asked(struct thread *t, int64_t now_ns);
/* T was sampled where it was asked, and the sample holds until NOW_NS.  The stop will show what
 * comes after. */
void claim_asked_until(struct thread *t, int64_t now_ns);

/* ---- the stop ---- */

/* T is held: corrects the claim of the request by where T stopped, and notes the wait that STOP
 * interrupted.  Returns whether T had fallen asleep, if it was off its CPU since the request, which
 * claim_settle() knows. */
bool claim_judge(struct thread *t, const struct stop *stop);
/* T was released, and NOW has its counts: returns SNAPSHOT's state, as far as that was open. */
enum thread_state claim_settle(const struct thread *t, const struct snapshot *snapshot,
                               const struct schedstat *now, bool fell_asleep);
/* T is let go after its stop, and was sampled in STATE since it was asked: if that was an interval
 * of INTERVAL_NS ago, until STOPPED_NS. */
void claim_stopped(struct thread *t, enum thread_state state, int64_t stopped_ns,
                   int64_t interval_ns);
/* The number of the system call in which T stopped. */
int64_t claim_stop_number(const struct thread *t, const struct stop *stop);
/* Is T as of VIEW back in the wait that a stop interrupted, and has done nothing else? */
bool claim_is_back(const struct thread *t, const struct syscall_state *view);
/* claim_is_back() is true: T's last sample holds again. */
void claim_back(struct thread *t);
