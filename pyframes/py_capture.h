/* The Python part of a capture: which thread states belong to a thread, and the reads that must
 * happen while the thread cannot move.  Used by the sampler's thread only, through its capture
 * hook. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pyframes/py_runtime.h"
#include "pyframes/py_task.h"

struct py_capture;
struct py_capture *py_capture_new(const struct py_runtime *rt); /* borrows RT */
/* Once a tick, no thread held: reads the thread-state lists again if they changed (a few reads if
 * not), through LIVE, the target's live memory.  The target may be running: what changes meanwhile
 * is found out by py_capture_thread(), or at the next tick.  May allocate.  Lists may be long: true:
 * there is more to read, at the next call, before which captures may be made; they go by what was
 * read whole. */
bool py_capture_tick(struct py_capture *c, struct mem *live);
/* From now on py_capture_thread() also reads what py_task_read() will need.  Borrows TASKS.  May be
 * called by another thread. */
void py_capture_tasks(struct py_capture *c, const struct py_tasks *tasks);
/* From now on captures of the thread whose last state is OWN take STATE, too, which another made but it runs, as long
 * as there is such a state, and before its own.  Or no longer.  May be called by another thread. */
void py_capture_adopt(struct py_capture *c, uint64_t own, uint64_t state);
void py_capture_disown(struct py_capture *c, uint64_t own, uint64_t state);
/* While thread TID is held or off the CPU: finds its thread states and reads, through RECORDING
 * (which keeps every byte), all that py_walk() and py_gil_state() will need for them, and of code
 * objects not seen before what py_code_resolve() will need (py_code_keep.h).  NS_TID: its
 * id in the target's pid namespace.  FS_BASE 0: unknown, then NS_TID decides; else FS_BASE alone
 * does.  Allocates nothing.  Fills THREAD_STATES (addresses; several for sub-interpreters on one
 * thread) and returns how many, at most MAX; 0: no Python thread.  *RET_INCOMPLETE is set if a read
 * failed on the way, and else left alone. */
uint32_t py_capture_thread(struct py_capture *c, struct mem *recording, pid_t ns_tid,
                           uint64_t fs_base, uint64_t *thread_states, uint32_t max,
                           bool *ret_incomplete);
/* The recording of the last py_capture_thread() is thrown away. */
void py_capture_undo(struct py_capture *c);
/* Had thread NS_TID a thread state at the last tick?  Only where tids are known by then.  *RET_THREAD_ID: its pthread_t. */
bool py_capture_knows(const struct py_capture *c, pid_t ns_tid, uint64_t *ret_thread_id);
struct py_capture *py_capture_free(struct py_capture *c); /* NULL is fine; returns NULL */
