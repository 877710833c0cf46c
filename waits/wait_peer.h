/* The other side of waits that lies in the kernel: the child of a wait4, the other end of a pipe or
 * a socket, the holder of a file's lock, the descriptors of an epoll (peer_find.h).
 *
 * It is looked for on the worker's thread, for waits that are still going on at the second tick:
 * short ones cost nothing.  A process that was found is looked at again about once a second,
 * because it may pass its end on.  All looks together take half a percent of a CPU at most; a wait
 * that ends before its turn stays without.  The thread's run count, its call and its descriptor
 * must be the same before and after the look. */
#pragma once

#include "waits/blocked_call.h"
#include "waits/wait_host.h"

struct wait_peers;
/* Borrowed objects outlive it. */
struct wait_peers *wait_peers_new(struct profile *p, const struct wait_host *host);
/* Completes WAIT, M's: the other end of a socket that is known already. */
void wait_peers_complete(struct wait_peers *w, const struct sample_message *m, struct wait *wait);
/* M's thread is in the wait ID now: looks at it later, if it lasts and ID does not say enough. */
void wait_peers_see(struct wait_peers *w, const struct sample_message *m, wait_id id);
/* Looks at the waits whose turn it is, if it is time.  The open samples get the sides that were
 * found. */
void wait_peers_look(struct wait_peers *w);
/* Looks again, at once, whether the processes that waits are for are still the right ones;
 * otherwise a circle of outdated waits would count as a deadlock.  And who listens where no process
 * was found (listeners.h).  At the end of a recording, while its threads still wait. */
void wait_peers_look_last(struct wait_peers *w);
/* When a look is due (clock_now_ns()); INT64_MAX: none.  In a hang no message wakes the worker. */
int64_t wait_peers_due_ns(const struct wait_peers *w);
/* How many looks for the holder of a file's lock came when the wait was over. */
uint64_t wait_peers_late(const struct wait_peers *w);
/* At once, all N of ASKED; a side stays as it is where nothing was found. */
void wait_peers_find_all(struct wait_peers *w, const struct asked_call *asked, size_t n);
/* Tells the profile what was given up. */
void wait_peers_report(const struct wait_peers *w);
struct wait_peers *wait_peers_free(struct wait_peers *w); /* NULL is fine; returns NULL */
