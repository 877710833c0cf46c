/* The offsets of fields in asyncio's tasks: private to pyframes/.  From 3.14 on the module _asyncio
 * says it (in its section .AsyncioDebug), before that a row of py_layout.c does.  Source: CPython
 * Modules/_asynciomodule.c, FutureObj_HEAD, TaskObj, Py_AsyncioModuleDebugOffsets. */
#pragma once

#include "pyframes/py_layout.h"
#include "target/modules.h"

/* All offsets are in bytes from the start of the structure. */
struct py_asyncio {
    struct {                      /* TaskObj */
        uint32_t loop, state;     /* a future's, too */
        uint32_t callback;        /* the first; a future's, too */
        uint32_t waiter;          /* the future that the task waits for */
        uint32_t coroutine, name; /* NAME: a str, or the int N of "Task-N" */
        uint32_t node;            /* 3.14+: in a list of tasks */
    } task;
    /* 3.14+: in PyThreadState, and the head of the interpreter's list of tasks of ended threads. */
    uint32_t running_loop, running_task, thread_tasks, interp_tasks;
};

/* MEM: live.  Returns 0; -ENOENT: the module is not loaded, or this version's tasks are not known;
 * -EPROTO: the description makes no sense. */
int py_asyncio_find(const struct py_runtime *rt, struct modules *modules, struct mem *mem,
                    struct py_asyncio *ret);
