/* The chain of awaits of one asyncio task: its coroutine, the coroutine that it awaits, and so on
 * to the innermost awaitable.  Live memory.  Everything read is bounded.  Source: CPython
 * Objects/genobject.c (_PyGen_yf(), PyAsyncGenASend), Modules/_asynciomodule.c (TaskObj,
 * FutureIter). */
#pragma once

#include "base/hash.h"
#include "base/text.h"
#include "pyframes/py_task_lists.h"
#include "pyframes/py_walk.h"

enum { PY_MAX_AWAITS = 100, PY_TYPE_BYTES = 48 };

enum py_task_does {
    PY_TASK_WAITS,   /* for AWAITED */
    PY_TASK_DUE,     /* for its turn: it begins, or its wait is over */
    PY_TASK_RUNS,    /* its thread is inside of it */
    PY_TASK_UNKNOWN, /* its coroutine is not Python's own type */
};
enum py_awaited {
    PY_AWAITS_OTHER,
    PY_AWAITS_FUTURE,
    PY_AWAITS_TASK,
    PY_AWAITS_GATHER, /* asyncio.gather() */
    PY_AWAITS_THREAD, /* a future of a thread's: run_in_executor(), wrap_future() */
};
struct py_await {
    uint64_t task, loop;
    enum py_task_does does;
    enum py_awaited awaits;
    uint64_t awaited; /* the future, the task */
    size_t n;
    bool cut;                              /* there are more than PY_MAX_AWAITS */
    struct py_frame frames[PY_MAX_AWAITS]; /* [0] outermost */
    uint64_t owners[PY_MAX_AWAITS];        /* of each its first argument: `self` */
};

/* Reads tasks of one process.  Knows types by their addresses: for one dump, because types may be
 * freed. */
struct py_awaits;
/* LIVE: live memory.  Borrows RT and LIVE.  Returns 0; -ENOENT: asyncio is not loaded, or this
 * version's tasks are not known; -EPROTO: asyncio's description of them makes no sense. */
int py_awaits_new(struct py_awaits **ret, const struct py_runtime *rt, struct modules *modules,
                  struct mem *live);
/* As py_loops_read() and py_tasks_read(). */
size_t py_awaits_loops(const struct py_awaits *w, struct py_loop loops[PY_MAX_LOOPS]);
size_t py_awaits_tasks(const struct py_awaits *w, uint64_t tasks[PY_MAX_TASKS], bool *ret_more);
/* The future that TASK, which may be none, waits for; 0: for nothing.  Cheap. */
uint64_t py_await_future(const struct py_awaits *w, uint64_t task);
/* Fills RET with TASK's state and chain.  Returns 0; -ENOENT: that is no task, or it is done;
 * -EAGAIN: it moves on while it is read. */
int py_await_read(struct py_awaits *w, uint64_t task, struct py_await *ret);
/* Appends TASK's name.  Returns 0 or a negative errno. */
int py_task_name_read(const struct py_awaits *w, uint64_t task, struct text *out);
/* The name of OBJECT's type ("Queue", "_asyncio.Future"); "": it cannot be read. */
const char *py_type_name(const struct py_awaits *w, uint64_t object, char ret[PY_TYPE_BYTES]);
struct py_awaits *py_awaits_free(struct py_awaits *w); /* NULL is fine; returns NULL */
