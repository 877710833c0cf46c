/* The asyncio task that a thread is just running, from 3.14 on.
 * Source: CPython Modules/_asynciomodule.c, Py_AsyncioModuleDebugOffsets; PEP 768's _Py_DebugOffsets. */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "pyframes/py_runtime.h"

struct py_tasks; /* where a runtime's tasks are; immutable */

/* Can RT's version ever have them? */
bool py_tasks_possible(const struct py_runtime *rt);
/* Looks for the description that the _asyncio module carries (its section .AsyncioDebug).  MEM: live.
 * Borrows RT.  Returns 0; -ENOENT: not loaded (yet); -EPROTO: it makes no sense. */
int py_tasks_find(struct py_tasks **ret, const struct py_runtime *rt, struct modules *modules,
                  struct mem *mem);
/* While the thread cannot move: reads through RECORDING what py_task_read() will need.  Allocates
 * nothing. */
void py_task_keep(const struct py_tasks *t, struct mem *recording, uint64_t thread_state);
/* Appends to OUT the name of the task that the thread runs, and fills RET_FRAME with the address of its
 * coroutine's frame (as struct py_frame's self; 0: unknown, it is no Python coroutine).  Returns 0;
 * -ENOENT: it runs none; -EPROTO: something that is no task of asyncio's; what mem_read() says. */
int py_task_read(const struct py_tasks *t, struct mem *mem, uint64_t thread_state, struct text *out,
                 uint64_t *ret_frame);
struct py_tasks *py_tasks_free(struct py_tasks *t); /* NULL is fine; returns NULL */
