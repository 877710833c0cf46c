/* How CPython's structures are laid out and what its versions do: private to pyframes/.  A version
 * is one row of a table in py_layout.c.  Up to 3.12 the row has the offsets; from 3.13 on the
 * target says them itself (_Py_DebugOffsets), and the row has their positions inside that block.
 * No other file asks which version it is: each asks a field (tools/check-includes).  Source: each
 * version's own headers, by tools/gen-layout; docs/python-versions.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "pyframes/py_runtime.h"
#include "pyframes/py_traits.h"

enum {
    PY_OLDEST_MINOR = 6,
    PY_VERSION_BYTES = 32,
    /* 888 in 3.15, the largest known. */
    PY_DEBUG_OFFSETS_MAX_BYTES = 1024,
    /* A frame's fields are read at once: no field that is read ends above this. */
    PY_FRAME_MAX_BYTES = 256,
    /* The same for the head of a thread state (links and ids). */
    PY_THREAD_MAX_BYTES = 512,
};
#define PY_ABSENT       UINT32_MAX /* this version has no such field */
#define PY_DEBUG_COOKIE "xdebugpy" /* how _PyRuntime begins from 3.13 on */

/* All offsets are in bytes from the start of the structure. */
struct py_layout {
    uint32_t minor;
    struct py_traits traits;
    bool free_threaded; /* no GIL unless gil.enabled says so; thread-local bytecode in 3.14+ */
    struct {            /* _PyRuntimeState */
        /* interpreters.head.  3.6: 0, the variable interp_head is the runtime. */
        uint32_t interpreters;
        uint32_t main_interpreter; /* 3.7+: interpreters.main */
        uint32_t gil;              /* 3.7 to 3.11: the GIL's structure */
        uint32_t collecting;       /* 3.7, 3.8: gc.collecting */
    } runtime;
    struct { /* PyInterpreterState */
        uint32_t next, threads;
        uint32_t gil;        /* 3.12+: pointer to the GIL's structure */
        uint32_t collecting; /* 3.9+: gc.collecting, i32 */
        uint32_t gc_frame;   /* 3.15: gc.frame, the Python frame that set a collection off */
        uint32_t modules;    /* pointer to the dict sys.modules */
    } interp;
    struct { /* PyThreadState */
        uint32_t next, interp;
        uint32_t frame;       /* innermost frame (≤ 3.10, 3.13+; between, the cframe has it) */
        uint32_t cframe;      /* 3.10 to 3.12 */
        uint32_t root_cframe; /* 3.10 to 3.12: ends the cframe chain, by address */
        uint32_t base_frame;  /* 3.15: pointer to the last element of the frame chain */
        uint32_t thread_id;   /* pthread_self() */
        uint32_t native_id;   /* 3.11+: tid in the target's pid namespace */
        uint32_t dict;        /* 3.11, 3.12: pointer to a dict of the thread's own */
        uint32_t loop;        /* 3.13: pointer to the event loop that it runs */
        uint32_t datastack;   /* 3.11+: pointers to the newest chunk of frames, to its free part */
    } thread;
    struct { /* CFrame, _PyCFrame */
        uint32_t current_frame, previous;
    } cframe;
    struct {               /* PyFrameObject, _PyInterpreterFrame */
        uint32_t previous; /* f_back */
        uint32_t code;     /* f_code, f_executable */
        uint32_t lasti;    /* ≤ 3.10: i32 */
        uint32_t instr;    /* 3.11+: prev_instr, instr_ptr */
        uint32_t owner;    /* i8 */
        uint32_t is_entry; /* 3.11: bool */
        uint32_t copy;     /* 3.14+ free-threaded: i32, which copy of the bytecode instr is in */
        uint32_t bytes;    /* to be read so that all of these are there */
        uint32_t locals;   /* the first of its variables' values, arguments first */
        uint32_t top;      /* 3.11 to 3.13: i32, how many values from LOCALS on are in use */
        uint32_t stack;    /* 3.14+: pointer behind the last of them */
    } frame;
    struct { /* PyCodeObject */
        uint32_t filename, name;
        uint32_t qualname;      /* 3.11+ */
        uint32_t first_line;    /* i32 */
        uint32_t linetable;     /* co_lnotab, co_linetable: a bytes object */
        uint32_t consts, names; /* ≤ 3.11: pointers to tuples */
        uint32_t version;       /* 3.12+: u32, another one for each code object that is made */
        uint32_t bytecode; /* ≤ 3.10: pointer to a bytes object; 3.11+: co_code_adaptive itself */
        uint32_t copies;   /* 3.14+ free-threaded: pointer to how many there are, then to each */
        uint32_t argcount, kwonly, flags; /* i32 */
        uint32_t variables; /* pointer to a tuple of names, in the order of the values */
    } code;
    struct { /* PyObject, PyVarObject */
        uint32_t type;
    } object;
    struct {                  /* PyHeapTypeObject */
        uint32_t cached_keys; /* 3.11 to 3.13: the keys of instances' attributes */
    } type;
    struct {            /* PyGenObject */
        uint32_t frame; /* 3.11+: gi_iframe, the frame itself */
        uint32_t state; /* 3.11+: i8, gi_frame_state */
    } generator;
    struct { /* str: compact ones only */
        uint32_t length, state;
        uint32_t ascii_bytes, compact_bytes; /* where the characters start, by state */
        /* state >> kind_shift: kind (3 bits: 1, 2, 4 bytes), compact (1), ascii (1) */
        uint32_t kind_shift;
    } unicode;
    struct { /* bytes */
        uint32_t size, data;
    } bytes;
    struct { /* struct _gil_runtime_state */
        uint32_t last_holder, locked;
        uint32_t enabled; /* free-threaded builds; i32, 0: there is no GIL */
        uint32_t bytes;
    } gil;
};

/* A CPython in a target.  Built by py_runtime_find(), or by a test. */
struct py_runtime {
    struct py_layout layout;
    uint64_t addr;      /* of _PyRuntime; 3.6: of interp_head */
    uint64_t code_type; /* of PyCode_Type; 0: unknown */
    uint64_t eval_addr; /* of _PyEval_EvalFrameDefault (of its hot part); 0: unknown */
    /* 3.6, whose GIL is no structure: the variable _PyThreadState_Current, and where its condition
     * variables and mutexes are; 0: unknown. */
    uint64_t current_thread, gil_start, gil_bytes;
    uint64_t module_start, module_end; /* the module that holds the interpreter */
    bool embedded;                     /* that module has functions of a program's own, too */
    char version[PY_VERSION_BYTES];
};

/* The traits of 3.MINOR; NULL: it has no row. */
const struct py_traits *py_traits_of(uint32_t minor);
/* Fills RET with the layout of 3.MINOR, whose runtime is at ADDR.  MEM: live.  Returns 0; -EAGAIN
 * (it cannot be read yet); -ENOTSUP (no row for MINOR, or a _Py_DebugOffsets that makes no sense:
 * ERR says which). */
int py_layout_load(uint32_t minor, struct mem *mem, uint64_t addr, struct py_layout *ret,
                   struct err *err);
/* Its two halves.  The layout of 3.MINOR up to 3.12; NULL: no row. */
const struct py_layout *py_layout_of(uint32_t minor);
/* 3.13 and later: fills RET from the first LEN bytes of _PyRuntime.  BYTES: hostile.  Returns 0;
 * -EPROTO (a field is out of bounds or the cookie is missing: ERR says which); -ENOTSUP (no row for
 * MINOR). */
int py_layout_decode(uint32_t minor, const uint8_t *bytes, size_t len, struct py_layout *ret,
                     struct err *err);
/* The u64 at OFFSET of a structure as read; 0 if OFFSET is PY_ABSENT. */
uint64_t py_layout_word(const uint8_t *structure, uint32_t offset);
/* Moves every field behind a PyObject header by BY bytes: builds with Py_TRACE_REFS (up to 3.12;
 * 3.6 and 3.7 with Py_DEBUG have it) put two pointers before it. */
void py_layout_shift_objects(struct py_layout *layout, uint32_t by);
