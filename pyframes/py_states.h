/* Which thread states there are, and of which threads.  Part of the capture, private to it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pyframes/py_runtime.h"

struct py_states;
struct py_states *py_states_new(const struct py_runtime *rt); /* borrows RT */
/* See py_capture_tick(). */
bool py_states_tick(struct py_states *s, struct mem *live);
/* Had thread NS_TID a state when the lists were last read?  False also if its tid was not known
 * then.  *RET_THREAD_ID: its pthread_t. */
bool py_states_knows(const struct py_states *s, pid_t ns_tid, uint64_t *ret_thread_id);
/* Was STATE in the lists then? */
bool py_states_has(const struct py_states *s, uint64_t state);
/* Fills STATES with the thread's states that are still what the table says, through RECORDING.
 * FS_BASE tells the thread; 0: unknown, then NS_TID does.  Returns how many, at most MAX; of more,
 * those that have frames are taken.  Sets *RET_INCOMPLETE if a limit was reached and there may be
 * others with frames.  Allocates nothing. */
uint32_t py_states_find(struct py_states *s, struct mem *recording, pid_t ns_tid, uint64_t fs_base,
                        uint64_t *states, uint32_t max, bool *ret_incomplete);
/* The same of states that were made since the lists were read: they are in front of the older
 * ones.  For a thread without any it reads two words of each list. */
uint32_t py_states_find_new(const struct py_states *s, struct mem *recording, pid_t ns_tid,
                            uint64_t fs_base, uint64_t *states, uint32_t max);
struct py_states *py_states_free(struct py_states *s); /* NULL is fine; returns NULL */
