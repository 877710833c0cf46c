/* Whom the blocked threads of a recording wait for.  The worker tells of the sampler's messages and
 * gets the wait of each sample; what is found out later it gets through its struct wait_host.  The
 * other headers of waits/ are private (tools/check-includes).
 *
 * A wait in a lock is read from the bytes that were recorded with the stack (wait_owner.h), one in
 * the kernel from /proc, while it lasts (wait_peer.h). */
#pragma once

#include "profile/profile.h"
#include "waits/blocked_call.h"
#include "waits/wait_host.h"

struct waits;

/* Borrows P; HOST is copied, and NULL means that no other side is looked for.  ONLY_ONCE: each
 * thread is sampled once, for a dump, which asks for the other sides with waits_find_all(). */
struct waits *waits_new(struct profile *p, const struct wait_host *host, bool only_once);
/* M says that its thread was met, goes on, or has ended: what it waited for is over.  Call it
 * before the time line of the thread is closed. */
void waits_hear(struct waits *w, const struct message *m);
/* The lock M was read: its waits have the holder that it names. */
void waits_see_lock(struct waits *w, const struct lock_message *m);
/* THREAD of process number PROCESS was seen to run Python's thread states STATES, up to the
 * first 0. */
void waits_see_states(struct waits *w, uint32_t process, thread_id thread,
                      const uint64_t states[SNAPSHOT_HOOK_WORDS]);
/* What the thread of S waits for; none: it runs.  The wait is remembered until waits_hear(). */
wait_id waits_describe(struct waits *w, const struct wait_sample *s);
/* What the thread of S, which waits for a CPU, was blocked in until it was woken. */
wait_id waits_describe_before(struct waits *w, const struct wait_sample *s);
/* When the time-out of the call that the thread of S is blocked in ends the wait (CLOCK_MONOTONIC),
 * as if the call had begun when it was sampled; 0: it has none, or an unknown one. */
int64_t waits_time_out_ns(const struct wait_sample *s);
/* After the messages of a tick: reads locks again that have changed hands, and looks for other
 * sides whose turn it is. */
void waits_look(struct waits *w);
/* Reads all that still wait again, at the end of a recording: the other sides may have changed, and
 * a circle of outdated ones would count as a deadlock. */
void waits_look_last(struct waits *w);
/* When there is something to look for (clock_now_ns()); INT64_MAX: nothing.  In a hang no message
 * wakes the worker. */
int64_t waits_due_ns(const struct waits *w);
/* Grows with each look that came too late: messages should be handled sooner. */
uint64_t waits_urgency(const struct waits *w);
/* Tells the profile what was given up, and the names of locks. */
void waits_report(const struct waits *w);
/* At once, all N of ASKED; a side stays as it is where nothing was found. */
void waits_find_all(struct waits *w, const struct asked_call *asked, size_t n);
struct waits *waits_free(struct waits *w); /* NULL is fine; returns NULL */
