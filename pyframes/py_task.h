/* The asyncio task that a thread is just running, from 3.14 on.  Source: CPython
 * Modules/_asynciomodule.c, Py_AsyncioModuleDebugOffsets. */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "pyframes/py_runtime.h"

struct py_tasks; /* where a runtime's tasks are; immutable */

/* Can tasks be read of RT's version? */
bool py_tasks_possible(const struct py_runtime *rt);
/* Looks for the description of tasks in the module _asyncio (its section .AsyncioDebug).  MEM:
 * live.  Borrows RT.  Returns 0; -ENOENT: the module is not loaded (yet); -EPROTO: the description
 * makes no sense. */
int py_tasks_find(struct py_tasks **ret, const struct py_runtime *rt, struct modules *modules,
                  struct mem *mem);
/* While the thread cannot move: reads through RECORDING what py_task_read() will need.  Allocates
 * nothing. */
void py_task_record(const struct py_tasks *t, struct mem *recording, uint64_t thread_state);
/* Appends to OUT the name of the task that the thread runs.  *RET_FRAME: the address of its
 * coroutine's frame (as in struct py_frame's self); 0: it is no Python coroutine.  Returns 0;
 * -ENOENT: the thread runs none; -EPROTO: it is no task of asyncio's; what mem_read() says. */
int py_task_read(const struct py_tasks *t, struct mem *mem, uint64_t thread_state, struct text *out,
                 uint64_t *ret_frame);
/* The number N of a task that is called Task-N: the int at ADDR, which is what it has for a name.
 * Returns 0, -EPROTO, or what mem_read() says. */
int py_task_number_read(const struct py_layout *layout, struct mem *mem, uint64_t addr,
                        uint64_t *ret);
struct py_tasks *py_tasks_free(struct py_tasks *t); /* NULL is fine; returns NULL */
