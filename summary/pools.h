/* Libraries whose threads wait for work (OpenMP, BLAS, torch, tokio, Python's executors), and event
 * loops: tables of their functions and modules.  summary/idle.h judges whole stacks by them. */
#pragma once

#include <stdbool.h>

#include "summary/view.h"

/* A function of a known pool's in which its threads wait for work. */
bool pool_is_loop(const struct shown_frame *f);
/* Is F, a loop, one in which the thread that gives the work waits, too? */
bool pool_is_joined(const struct shown_frame *f);
/* Does such a loop read its work from a queue of another process (multiprocessing's pools)? */
bool pool_reads_queue(const struct shown_frame *f);
/* Does such a loop write to a queue?  Then a wait for the queue's lock is none for work. */
bool pool_writes_queue(const struct shown_frame *f);
/* The name of the threads of F's pool that have none of their own ("omp worker"); NULL: not a known
 * pool's frame. */
const char *pool_name(const struct shown_frame *f);
/* The same for F's module alone, all of whose threads are pool workers. */
const char *pool_of_module(const struct shown_frame *f);
/* The users' name of the event loop that F is a function of ("asyncio"); NULL: of none. */
const char *pool_event_loop(const struct shown_frame *f);
/* A function by which such a loop polls, and which says of no wait whose it is. */
bool pool_is_poller(const struct shown_frame *f);
/* Is F, a pool's function, one in which whoever gave it work waits for the results? */
bool pool_waits_for_results(const struct shown_frame *f);
/* A function that runs a loop of its own until the one answer is there that it waits for. */
bool pool_waits_for_answer(const struct shown_frame *f);
