/* The traits of CPython's versions, which no offset shows: private to pyframes/.  Each version's
 * row in py_layout.c has them, written by hand; docs/python-versions.md, "Adding a version", says
 * where in CPython's sources to look for each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pyframes/py_linetable.h"

/* How one activation of the eval loop differs from the next (docs/python-versions.md "Markers"). */
enum py_chain {
    PY_CHAIN_OBJECTS,        /* ≤ 3.9: every PyFrameObject is one */
    PY_CHAIN_OBJECTS_CFRAME, /* 3.10: the same, with a CFrame each on the C stack */
    PY_CHAIN_IS_ENTRY,       /* 3.11: is_entry on its outermost frame, and a _PyCFrame */
    PY_CHAIN_SHIM_CFRAME, /* 3.12: a shim frame on the C stack below its outermost; top by cframe */
    PY_CHAIN_SHIM,        /* 3.13+: the same; top by tstate->current_frame */
};

/* How dicts are laid out, and where an instance keeps its attributes (docs/python-versions.md
 * "Names of threads"). */
enum py_dicts {
    PY_DICTS_36,  /* ≤ 3.10: attributes are in the dict at tp_dictoffset */
    PY_DICTS_311, /* before the object a pointer to values and one to a dict; new hash tables */
    PY_DICTS_312, /* before the object one pointer to either */
    PY_DICTS_313, /* 3.13+: before the object a pointer to a dict, or values behind the object */
};

/* The object that Thread.join() waits for (pyframes/py_join.h). */
enum py_join {
    PY_JOIN_LOCK,      /* ≤ 3.12: the lock _tstate_lock of the Thread */
    PY_JOIN_HANDLE,    /* 3.13: an event in its _handle */
    PY_JOIN_OS_HANDLE, /* 3.14+: the same, as _os_thread_handle */
};

/* What `with lock:` leaves on the value stack (pyframes/py_lock.h). */
enum py_with_keeps {
    PY_WITH_KEEPS_BLOCK, /* ≤ 3.10: __exit__, bound; the frame's block stack says where */
    PY_WITH_KEEPS_BOUND, /* 3.11 to 3.13: the same; the code's exception table does */
    PY_WITH_KEEPS_BOTH,  /* 3.14+: __exit__, and the lock */
};

/* Where asyncio keeps its tasks (docs/python-versions.md "All tasks"). */
enum py_tasks_kept {
    PY_TASKS_UNREAD,  /* ≤ 3.10 */
    PY_TASKS_SET_311, /* asyncio.tasks._all_tasks, a WeakSet; a running loop is in a holder */
    PY_TASKS_SET,     /* 3.12, 3.13: asyncio.tasks._scheduled_tasks, a WeakSet */
    PY_TASKS_LISTS,   /* 3.14+: a list of each thread state, and one of the interpreter */
};

struct py_traits {
    enum py_chain chain;
    enum py_linetable_kind lines;
    enum py_dicts dicts;
    enum py_join join;
    enum py_with_keeps with_keeps;
    uint32_t lasti_unit;       /* ≤ 3.10: bytes per unit of f_lasti */
    uint32_t executable_tags;  /* 3.14+: bits of frame.code that are a _PyStackRef's tags */
    bool code_first;           /* ≤ 3.9: a function's first field is its code object */
    bool trace_refs_links;     /* ≤ 3.12: Py_TRACE_REFS puts two pointers before each object */
    bool int_tags;             /* 3.12+: an int's size and sign are in lv_tag, not in ob_size */
    bool shim_code;            /* 3.12+: a shim runs a code object of the file "<shim>" */
    bool init_helper;          /* 3.13+: Class(…) has a frame named like its file, __init__ */
    bool collector_sets_flag;  /* 3.13+: the collector sets gc.collecting, not its callers */
    bool anonymous_jit;        /* 3.13, 3.14: CPython's JIT announces its code nowhere */
    bool interned_is_byte;     /* 3.14+: free-threaded builds keep interned in 8 bits, not 2 */
    bool names_kernel_threads; /* 3.14+: threading.py tells the kernel a thread's name */
    bool await_in_resume;      /* 3.11, 3.12: only RESUME's argument tells `await` from `yield` */
    bool two_awaited;          /* 3.15+: `await` has another value above the awaited one */
    uint8_t created, awaiting, executing; /* 3.11+: enum _framestate of a coroutine */
    enum py_tasks_kept tasks;
    uint8_t task_state, task_waiter; /* 3.11 to 3.13: a task's fields, behind its type */
    bool hashed_tuples;              /* 3.14+: a tuple's hash is before its items */
    bool asyncio_debug;              /* 3.14+: asyncio describes its tasks, in .AsyncioDebug */
};
