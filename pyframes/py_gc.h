/* Is a thread collecting garbage, and from which frame on?  A flag of the runtime or the
 * interpreter says that a collection runs.  The stack says which thread runs it, not the GIL,
 * because finalizers give that away.  Source: CPython Modules/gcmodule.c (Python/gc.c from 3.13
 * on); docs/python-versions.md "Garbage collection". */
#pragma once

#include "pyframes/py_walk.h"
#include "unwinder/unwinder.h"

enum py_gc_place {
    PY_GC_NONE,
    PY_GC_NATIVE, /* frame INDEX of the native stack is the collector's outermost */
    PY_GC_PYTHON, /* frame INDEX of the Python stack set the collector off */
};
struct py_gc_found {
    enum py_gc_place place;
    size_t index;
};

/* Remembers what was found in the interpreter's code.  One per runtime, used by the worker. */
struct py_gc;
struct py_gc *py_gc_new(const struct py_runtime *rt, struct mem *live); /* borrows both */
/* MEM: the snapshot's.  NATIVE and PY: its stacks.  NATIVE may be empty: then nothing is found
 * before 3.15. */
struct py_gc_found py_gc_find(struct py_gc *gc, struct mem *mem, const uint64_t *thread_states,
                              size_t n, const struct native_stack *native,
                              const struct py_stack *py);
/* While the thread cannot move: reads through RECORDING what py_gc_find() will need. */
void py_gc_record(const struct py_runtime *rt, struct mem *recording, uint64_t thread_state);
struct py_gc *py_gc_free(struct py_gc *gc); /* NULL is fine; returns NULL */
