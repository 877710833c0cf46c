/* Which event loops run, and which tasks asyncio has: their addresses.  Live memory: the target may
 * be running, and a task that is added or removed meanwhile may be missing.  Source: CPython
 * Lib/asyncio/tasks.py (3.11 to 3.13), Lib/_weakrefset.py, Include/cpython/setobject.h,
 * Modules/_asynciomodule.c (set_running_loop(), all_tasks()). */
#pragma once

#include "pyframes/py_runtime.h"

struct py_asyncio; /* pyframes/py_asyncio.h, private to pyframes/ */

enum { PY_MAX_TASKS = 10000, PY_MAX_LOOPS = 64 };

struct py_loop {
    uint64_t addr;
    uint64_t thread_state; /* of the thread that runs it */
};
/* Fills LOOPS with the event loops that run.  Returns how many, at most PY_MAX_LOOPS. */
size_t py_loops_read(const struct py_runtime *rt, struct mem *live, const struct py_asyncio *a,
                     struct py_loop loops[PY_MAX_LOOPS]);
/* Fills TASKS with objects that may be tasks, also finished ones.  Returns how many, at most
 * PY_MAX_TASKS; *RET_MORE: there are more, or the rest cannot be read. */
size_t py_tasks_read(const struct py_runtime *rt, struct mem *live, const struct py_asyncio *a,
                     uint64_t tasks[PY_MAX_TASKS], bool *ret_more);
