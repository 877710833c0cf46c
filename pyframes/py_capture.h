/* The Python part of a capture: which thread states belong to a thread, and the reads that must
 * happen while the thread cannot move.  Used by the sampler's thread only, through its capture
 * hook. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pyframes/py_runtime.h"
#include "pyframes/py_task.h"

/* Scratch memory for one capture at a time, of all processes that one thread captures.  1.3 MB,
 * once there is a Python. */
struct py_scratch;
struct py_scratch *py_scratch_new(void);
struct py_scratch *py_scratch_free(struct py_scratch *scratch); /* NULL is fine; returns NULL */

struct py_capture;
/* Borrows both.  SCRATCH: NULL: one of its own. */
struct py_capture *py_capture_new(const struct py_runtime *rt, struct py_scratch *scratch);
/* Once a tick, with no thread held: reads the lists of thread states again if they changed; if not,
 * that costs a few reads.  LIVE: the target's live memory.  The target may be running: a change
 * meanwhile shows in py_capture_thread() or at the next tick.  May allocate.  Returns whether there
 * is more to read at the next call.  Captures made before it use the lists that were last read
 * whole. */
bool py_capture_tick(struct py_capture *c, struct mem *live);
/* From now on py_capture_thread() also reads the memory that py_task_read() will need.  Borrows
 * TASKS.  May be called by another thread. */
void py_capture_tasks(struct py_capture *c, const struct py_tasks *tasks);
/* The same for py_locals_add(), of arguments or of ALL variables. */
void py_capture_locals(struct py_capture *c, bool all);
/* Captures of the thread whose last state is OWN take STATE, too, as long as it exists and before
 * its own: the thread runs it though another thread made it.  The second ends that.  May be called
 * by another thread. */
void py_capture_add_foreign(struct py_capture *c, uint64_t own, uint64_t state);
void py_capture_remove_foreign(struct py_capture *c, uint64_t own, uint64_t state);
/* While a thread is held or off the CPU: finds its thread states, and reads through RECORDING,
 * which keeps every byte, all that py_walk() and py_gil_state() will need of them, and what
 * py_code_resolve() will need of code objects not seen before (py_code_record.h).  FS_BASE tells
 * the thread; 0: unknown, then NS_TID does, its id in the target's pid namespace.  Allocates
 * nothing.  Fills THREAD_STATES (addresses; several for sub-interpreters on one thread) and returns
 * how many, at most MAX; 0: no Python thread.  Sets *RET_INCOMPLETE if a read failed on the way,
 * and else leaves it alone. */
uint32_t py_capture_thread(struct py_capture *c, struct mem *recording, pid_t ns_tid,
                           uint64_t fs_base, uint64_t *thread_states, uint32_t max,
                           bool *ret_incomplete);
/* The recording of the last py_capture_thread() is thrown away. */
void py_capture_undo(struct py_capture *c);
/* Had thread NS_TID a thread state at the last tick?  False also if its tid was not known then.
 * *RET_THREAD_ID: its pthread_t. */
bool py_capture_knows(const struct py_capture *c, pid_t ns_tid, uint64_t *ret_thread_id);
struct py_capture *py_capture_free(struct py_capture *c); /* NULL is fine; returns NULL */
