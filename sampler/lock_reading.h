/* Reads the watched locks of a process at each tick: all in one system call, within a budget, and
 * not in a locked address space.
 *
 * The worker is told where the bytes have changed, and where a wait is new, if they are proven to
 * be the lock's: a thread that waited for it before the reading waits for it still.  The target
 * runs.  Private to sampler/. */
#pragma once

#include <stdint.h>

struct process;
struct sampler;

/* A tick of P begins. */
void lock_reading_look(struct sampler *s, struct process *p);
/* The same at NOW_NS, where none of P's threads has run since the last tick.  One may have run
 * between that tick's reading and its look at the threads: the first such tick reads all locks, the
 * others only those that processes share. */
void lock_reading_rest(struct sampler *s, struct process *p, int64_t now_ns);
